"""Real proxies of Debian on loopback: microsocks (SOCKS5) and tinyproxy (HTTP). Prints their ports, and then what they log.
Ends them at the end of standard input."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

os.environ["PATH"] += ":/usr/sbin:/usr/bin"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def relay(name, stream):
    for line in stream:
        print(name, line.decode(errors="replace").rstrip(), flush=True)


def start(name, command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    threading.Thread(target=relay, args=(name, process.stdout), daemon=True).start()
    return process


def wait_for(port):
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)


socks, http = free_port(), free_port()
folder = tempfile.mkdtemp()
with open(folder + "/tinyproxy.conf", "w") as configuration:
    configuration.write(f"Port {http}\nListen 127.0.0.1\nTimeout 600\nAllow 127.0.0.1\nLogLevel Connect\nMaxClients 50\n")
processes = [start("microsocks", ["microsocks", "-i", "127.0.0.1", "-p", str(socks)]),
             start("tinyproxy", ["tinyproxy", "-d", "-c", folder + "/tinyproxy.conf"])]
for port in (socks, http):
    wait_for(port)
print("ports", socks, http, flush=True)
sys.stdin.read()
for process in processes:
    process.kill()
    process.wait()
shutil.rmtree(folder)
