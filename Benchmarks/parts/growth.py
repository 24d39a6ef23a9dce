"""Megabytes that the daemon grows by from turn 100 to turn 1,100, with 200 crashes of a plugin among them."""
import contextlib
import os
import signal

from harness import memory_mb, wait_until

GOALS = {"memory.growth_mb": ("<=", 2)}


def end_of(path):
    """The last words in a file; none while it is not there."""
    if not os.path.exists(path):
        return ""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - 500))
        return file.read().decode(errors="replace")


def measure(bench):
    warm_up, turns = bench.amount((100, 1_100), (5, 20))
    home = bench.home()
    inbox_path, outbox = home.path + "/in", home.path + "/out"
    home.configure(f"pi: {{executable: {bench.demo_agent}}}\n"
                   "restart: {failingCount: 1000000, firstDelayMilliseconds: 0}\n"
                   f"file-messenger: {{auth: {{everyone: true}}, inbox: {inbox_path}, outbox: {outbox}}}\n")
    home.add_plugin("examples/plugins/file-messenger.py", "file-messenger.py")
    first = 0
    with home.daemon() as daemon:
        wait_until(lambda: os.path.exists(inbox_path))
        with open(inbox_path, "w", buffering=1) as inbox:
            for turn in range(1, turns + 1):
                inbox.write(f"turn {turn}\n")
                wait_until(lambda: f"You wrote: turn {turn}\n" in end_of(outbox))
                if turn == warm_up:
                    first = memory_mb([daemon.pid], "Rss")
                if turn > warm_up and turn % 5 == 0:
                    pid = next((plugin["pid"] for plugin in home.running() if plugin["name"] == "formatter"), None)
                    if pid:
                        # It may end by itself meanwhile, since nobody needed it.
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
        bench.note("memory.growth_mb", memory_mb([daemon.pid], "Rss") - first)
