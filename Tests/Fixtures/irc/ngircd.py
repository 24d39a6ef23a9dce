"""A real IRC server, ngircd, on a port of its own. Prints "ports PORT"; "stop" and "start" come on standard input."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    program = shutil.which("ngircd", path="/usr/sbin:/usr/bin")
    port = free_port()
    folder = tempfile.mkdtemp(prefix="ngircd-")
    path = os.path.join(folder, "ngircd.conf")
    with open(path, "w") as file:
        file.write(
            f"[Global]\nName = irc.test\nInfo = test\nAdminEMail = a@b.c\nListen = 127.0.0.1\nPorts = {port}\n"
            "MotdPhrase = hello\n[Limits]\nMaxConnectionsIP = 0\nMaxNickLength = 16\nPingTimeout = 5\nMaxPenaltyTime = 0\n"
            "[Options]\nDNS = no\nIdent = no\nPAM = no\nAllowRemoteOper = no\n"
        )
    os.chmod(folder, 0o755)

    def start():
        server = subprocess.Popen([program, "-n", "-f", path], stdout=sys.stderr)
        while server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return server
            except OSError:
                time.sleep(0.02)
        sys.exit(f"ngircd ended with {server.returncode}")

    server = start()

    def end(*_):
        server.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print("ports", port, flush=True)
    for line in sys.stdin:
        if line.strip() == "stop":
            server.kill()
            server.wait()
        else:
            server = start()
        print("done", line.strip(), flush=True)
    end()


main()
