"""Everything that the parts of the benchmark share: homes in a scratch folder, daemons that end with their part, and figures."""
import contextlib
import ctypes
import json
import math
import os
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import verdicts

PR_SET_CHILD_SUBREAPER = 36


class LeftOut(Exception):
    """A program that a figure is compared with is not installed."""


class Bench:
    """One run of the benchmark: where the programs are, how much is measured, and the figures so far."""

    def __init__(self, programs, scratch, quick):
        self.programs, self.scratch, self.quick = programs, scratch, quick
        self.relay, self.tool = programs + "/pi-relayd", programs + "/pi-relay-bench"
        self.demo_agent = programs + "/pi-relay-demo-agent"
        self.figures = {}
        self.goals = {}

    def amount(self, full, quick):
        return quick if self.quick else full

    @property
    def runs(self):
        return self.amount(5, 1)

    def note(self, key, value):
        """Records a figure and prints it, with a verdict where it has a goal. A quick run judges nothing."""
        if not math.isfinite(value):
            raise SystemExit(f"{key} is {value}, which is no figure")
        self.figures[key], goal = value, self.goals.get(key)
        verdict = verdicts.verdict(goal, value) if goal and not self.quick else ""
        print(verdicts.line(key, value, goal, verdict), flush=True)

    def median(self, body):
        return statistics.median(body() for _ in range(self.runs))

    def home(self, folder=None):
        return Home(self, tempfile.mkdtemp(dir=folder or self.scratch))


class Home:
    """A home of its own for a daemon."""

    def __init__(self, bench, path):
        self.bench, self.path = bench, path
        os.makedirs(path + "/plugins", exist_ok=True)
        self.environment = dict(os.environ, PI_RELAY_HOME=path, PI_CODING_AGENT_DIR=path + "/agent",
                                PI_BRIDGE_DIR=path + "/bridges")

    def configure(self, text):
        with open(self.path + "/relay.yaml", "w") as file:
            file.write(text)
        os.chmod(self.path + "/relay.yaml", 0o600)

    def add_plugin(self, source, name):
        shutil.copy(source, f"{self.path}/plugins/{name}")

    def command(self, *arguments):
        return subprocess.run([self.bench.relay, *arguments], env=self.environment, capture_output=True, text=True)

    def plugins(self):
        out = self.command("plugins", "--json").stdout
        return json.loads(out) if out else []

    def running(self):
        return [plugin for plugin in self.plugins() if plugin["state"] == "running"]

    @contextlib.contextmanager
    def daemon(self, **environment):
        """A daemon that is ready; it has ended when the block ends, however that ends."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            name = f"{self.path}/ready"
            ready.bind(name)
            ready.settimeout(120)
            began = time.monotonic()
            process = subprocess.Popen(
                [self.bench.relay, "start"], env=dict(self.environment, NOTIFY_SOCKET=name, **environment),
                stderr=subprocess.DEVNULL)
            daemon = Daemon(process, began)
            try:
                while b"READY=1" not in ready.recv(4096):
                    pass
                daemon.ready_ms = (time.monotonic() - began) * 1000
                os.unlink(name)
                yield daemon
            finally:
                daemon.stop()


class Daemon:
    def __init__(self, process, began):
        self.process, self.pid, self.began = process, process.pid, began
        self.ready_ms = self.stop_ms = 0.0

    def stop(self):
        if self.process.returncode is not None:
            return
        # `wait` with a limit looks at ever longer intervals, and would round the time up to 31, 63 or 113 ms.
        ended = os.pidfd_open(self.pid)
        try:
            began = time.monotonic()
            self.process.send_signal(signal.SIGTERM)
            if not select.select([ended], [], [], 60)[0]:
                self.process.kill()
                self.process.wait()
                raise SystemExit("the daemon did not end within 60 s of SIGTERM")
            self.stop_ms = (time.monotonic() - began) * 1000
            self.process.wait()
        finally:
            os.close(ended)
        if self.process.returncode:
            raise SystemExit(f"the daemon ended with {self.process.returncode}")


def wait_until(condition, seconds=120):
    """Returns the first true value of `condition`."""
    began = time.monotonic()
    while not (found := condition()):
        if time.monotonic() - began > seconds:
            raise SystemExit(f"the expected condition did not occur within {seconds} s")
        time.sleep(0.002)
    return found


def contents(path):
    """The text of a file that another process writes; empty while the file or the process is not there."""
    try:
        with open(path) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def percentile(values, percent):
    """The nearest rank: the smallest value that at least so many percent of all do not exceed."""
    return sorted(values)[math.ceil(len(values) * percent / 100) - 1]


def memory_mb(pids, field="Pss"):
    """Megabytes of those processes that have not ended."""
    total = 0
    for pid in pids:
        # A process that has ended has no such file, or an empty one until it is reaped.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/smaps_rollup") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith(field + ":"))
    return total / 1024


def cpu_ms(pids):
    # Each process's own CPU clock (clock_getcpuclockid(3)): precise, and threads that have ended are counted too.
    return sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids) / 1e6


def children(pid):
    """The children of a process that have not ended."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    return [int(child) for child in found if state(child) != "Z"]


def state(pid):
    text = contents(f"/proc/{pid}/stat")
    return text.rpartition(")")[2].split()[0] if text else "Z"


def adopt_orphans():
    """Makes this process the parent of what its children leave behind, so that nothing escapes `end_leftovers`."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_leftovers(seconds=5):
    """Waits a little for all processes below this one to end, kills those that remain, and returns what they were."""
    began, killed = time.monotonic(), []
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = children(os.getpid())
        if not left:
            return killed
        if time.monotonic() - began > seconds:
            for pid in left:
                killed.append(contents(f"/proc/{pid}/cmdline").replace("\0", " ").strip())
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
