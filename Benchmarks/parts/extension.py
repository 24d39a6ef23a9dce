"""The pi extension: an event of pi that it passes on, against `JSON.stringify` of the event in the same program."""
import json
import os
import shutil
import socket
import subprocess
import threading

from harness import LeftOut

GOALS = {"extension.event_vs_stringify": ("<=", 3)}
GREETING = {"machine": "bench", "session": {"id": "bench", "name": "bench"}, "approvals": {"enabled": False}}


def serve(listener, heard):
    """Greets on both connections, and reads the stream, as a daemon does that is quick."""
    stream = greet(listener)
    with stream, greet(listener):
        while chunk := stream.recv(1 << 20):
            heard.append(chunk.count(b"\n"))


def greet(listener):
    connection, _ = listener.accept()
    line = connection.makefile().readline()
    reply = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": GREETING}
    connection.sendall(json.dumps(reply).encode() + b"\n")
    return connection


def node():
    for candidate in ("node", ".build/node/bin/node"):
        path = shutil.which(candidate)
        if path and int(subprocess.run([path, "-p", "process.versions.node.split('.')[0]"], capture_output=True, text=True).stdout) >= 20:
            return path
    raise LeftOut("there is no Node 20 or later")


def measure(bench):
    program = node()
    path = f"{bench.scratch}/extension.sock"

    def ratio():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(path)
            listener.listen()
            heard = []
            thread = threading.Thread(target=serve, args=[listener, heard], daemon=True)
            thread.start()
            events = bench.amount(50_000, 2_000)
            command = [program, "Benchmarks/peers/extension_event.mjs", path, str(events)]
            out = subprocess.run(command, capture_output=True, text=True, timeout=120)
            thread.join(10)
            os.unlink(path)
        if out.returncode != 0:
            raise SystemExit(out.stderr or f"node exited with {out.returncode}")
        # Events that were dropped cost nothing: two rounds must have arrived.
        if sum(heard) != 2 * events:
            raise SystemExit(f"{2 * events - sum(heard)} events were dropped")
        figures = json.loads(out.stdout)
        rounds.append(figures)
        return figures["event"] / figures["stringify"]

    rounds = []
    value = bench.median(ratio)
    bench.note("extension.event_ns", sorted(one["event"] for one in rounds)[len(rounds) // 2])
    bench.note("extension.event_vs_stringify", value)
