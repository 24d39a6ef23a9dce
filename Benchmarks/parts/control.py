"""The control socket: the memory that the daemon has for a hundred programs that follow a session."""
import contextlib
import json
import selectors
import socket
import statistics
import subprocess
import time

from harness import memory_mb, wait_until

GOALS = {"control.clients_100_rss_mb": ("<=", 10)}
ANSWER = "/long 900"


def connect(home):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(home.path + "/run/control.sock")
    return connection


def request(connection, method, **parameters):
    """The result of a request; nothing else has come by then."""
    connection.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode() + b"\n")
    line = b""
    while not line.endswith(b"\n"):
        line += connection.recv(1 << 16)
    return json.loads(line)["result"]


def read_answer(clients):
    """Has all clients read until the end of a run, as programs that keep up do."""
    with selectors.DefaultSelector() as ready:
        for client in clients:
            ready.register(client, selectors.EVENT_READ)
        tails = dict.fromkeys(clients, b"")
        began = time.monotonic()
        while ready.get_map():
            if time.monotonic() - began > 60:
                raise SystemExit("the run did not end within 60 s")
            for key, _ in ready.select(1):
                text = tails[key.fileobj] + key.fileobj.recv(1 << 16)
                if b'"run.ended"' in text:
                    ready.unregister(key.fileobj)
                tails[key.fileobj] = text[-16:]


def settled_memory(daemon):
    """The daemon's memory once it has given back what it can."""
    time.sleep(0.5)
    return memory_mb([daemon.pid], "Rss")


def clients(bench, count):
    """Megabytes for clients that have subscribed, and for those that were told an answer besides."""
    home = bench.home()
    home.configure(f"pi: {{executable: {bench.demo_agent}}}\n")
    with home.daemon() as daemon, contextlib.ExitStack() as stack:
        subprocess.run([bench.relay, "chat"], input=ANSWER, env=home.environment, capture_output=True, text=True, check=True)
        driver = stack.enter_context(connect(home))
        session = request(driver, "session.list")["sessions"][0]["id"]
        wait_until(lambda: request(driver, "session.status", session=session)["activity"] == "idle")
        before = settled_memory(daemon)
        followers = [stack.enter_context(connect(home)) for _ in range(count)]
        for follower in followers:
            request(follower, "session.subscribe", session=session)
        quiet = settled_memory(daemon) - before
        request(driver, "session.prompt", session=session, text=ANSWER)
        read_answer(followers)
        return quiet, settled_memory(daemon) - before


def measure(bench):
    pairs = [clients(bench, bench.amount(100, 10)) for _ in range(bench.runs)]
    bench.note("control.clients_100_rss_mb", statistics.median(quiet for quiet, _ in pairs))
    bench.note("control.clients_100_answer_rss_mb", statistics.median(told for _, told in pairs))
