"""How long a stream is silent while another program takes the daemon's place, and how long a start takes after a kill."""
import os
import subprocess
import time

from harness import wait_until
from parts.latency import streaming

GOALS = {"upgrade.gap_ms": ("<=", 100), "recover.ms": ("<=", 200)}


def replace(home):
    out = home.command("upgrade")
    if out.returncode:
        raise SystemExit(f"upgrade failed: {out.stderr}")


def recover(bench):
    home = bench.home()
    os.makedirs(home.path + "/state")
    subprocess.run([bench.tool, "fill", home.path], check=True)
    with home.daemon() as daemon:
        wait_until(lambda: len(home.running()) == 2)
        return (time.monotonic() - daemon.began) * 1000


def measure(bench):
    bench.note("upgrade.gap_ms", bench.median(lambda: streaming(bench, replace)[1]))
    bench.note("upgrade.gap_without_ms", bench.median(lambda: streaming(bench)[1]))
    bench.note("recover.ms", bench.median(lambda: recover(bench)))
