"""Bridges of sessions: one request by a whole process, and a stream of events beside a client that does not read."""
import glob
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time

from harness import LeftOut, wait_until

GOALS = {"bridge.roundtrip_vs_node": ("<=", 0.3), "bridge.stream_events_vs_pipe": ("<=", 2)}
PEERS = os.path.join(os.path.dirname(__file__), "..", "peers")


def begin(home, bench):
    """Begins a session in a terminal's conversation. Returns the path of its bridge's socket."""
    subprocess.run([bench.relay, "chat"], input="hello\n", env=home.environment, capture_output=True, text=True, check=True)
    return wait_until(lambda: next(iter(glob.glob(home.path + "/bridges/pi-*.sock")), None))


def took(command, environment):
    began = time.monotonic()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return (time.monotonic() - began) * 1000


def round_trips(bench):
    node = shutil.which("node")
    if not node:
        raise LeftOut("there is no Node to compare pi-bridge with")
    home = bench.home()
    home.configure(f"pi: {{executable: {bench.demo_agent}}}\n")
    with home.daemon():
        path = begin(home, bench)
        ours = [bench.programs + "/pi-bridge", "state", "--socket", path]
        peer = [node, PEERS + "/state_client.js", path]
        # In turn, so that a machine that is slow for a while is slow for both.
        pairs = [(took(ours, home.environment), took(peer, home.environment)) for _ in range(bench.amount(30, 2))]
    bench.note("bridge.roundtrip_ms", statistics.median(way for way, _ in pairs))
    bench.note("bridge.roundtrip_node_ms", statistics.median(trip for _, trip in pairs))
    bench.note("bridge.roundtrip_vs_node", statistics.median(way / trip for way, trip in pairs))


def read_run(connection):
    """Reads until the end of a run. Returns seconds from its beginning and the bytes in between."""
    began, size, tail = None, 0, b""
    while True:
        piece = connection.recv(1 << 18)
        if not piece:
            raise SystemExit("the connection was closed in mid-run")
        if began is None and b'"agent_start"' in tail + piece:
            began = time.monotonic()
        size += len(piece)
        if b'"agent_end"' in tail + piece:
            return time.monotonic() - began, size
        tail = piece[-32:]


def stream(bench, deltas):
    home = bench.home()
    agent = home.path + "/burst-agent"
    with open(agent, "w") as file:
        file.write(f"#!/bin/sh\nBURST_DELTAS={deltas} exec {sys.executable} {os.path.abspath(PEERS)}/burst_agent.py \"$@\"\n")
    os.chmod(agent, 0o755)
    home.configure(f"pi: {{executable: {agent}}}\n")
    with home.daemon():
        path = begin(home, bench)
        with socket.socket(socket.AF_UNIX) as stalled, socket.socket(socket.AF_UNIX) as reader:
            stalled.connect(path)
            reader.connect(path)
            reader.recv(1 << 16)
            reader.sendall(b'{"id":"1","type":"prompt","message":"go"}\n')
            return read_run(reader)[0]


def copy(deltas):
    """The same agent, whose output goes through a plain copy to the same reader."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        agent = subprocess.Popen([sys.executable, PEERS + "/burst_agent.py", "--burst"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env=dict(os.environ, BURST_DELTAS=str(deltas)))
        copier = subprocess.Popen(["cat"], stdin=agent.stdout, stdout=theirs)
        agent.stdin.write(b"go\n")
        agent.stdin.close()
        seconds = read_run(ours)[0]
        copier.wait()
        agent.wait()
    return seconds


def measure(bench):
    round_trips(bench)
    deltas = bench.amount(100_000, 2_000)
    pairs = [(stream(bench, deltas), copy(deltas)) for _ in range(bench.runs)]
    bench.note("bridge.stream_events_per_s", deltas / statistics.median(way for way, _ in pairs))
    bench.note("bridge.stream_events_vs_pipe", statistics.median(way / floor for way, floor in pairs))
