"""The cost of acknowledging a message, against what the disk itself takes."""
import statistics
import subprocess
import tempfile

from harness import contents, wait_until

GOALS = {"store.accept_to_ack_vs_fdatasync_p50": ("<=", 3), "store.group_commit_vs_single": (">=", 3)}


def ours(bench):
    home = bench.home()
    result = home.path + "/result"
    home.configure(f"acknowledgement: {{auth: {{everyone: true}}, result: {result}}}\n")
    home.add_plugin(bench.tool, "acknowledgement")
    with home.daemon():
        return [float(word) for word in wait_until(lambda: contents(result)).split()]


def disk(bench):
    folder = tempfile.mkdtemp(dir=bench.scratch)
    out = subprocess.run([bench.tool, "commit", folder], capture_output=True, text=True, check=True).stdout
    return [float(word) for word in out.split()]


def measure(bench):
    pairs = [(ours(bench), disk(bench)) for _ in range(bench.runs)]
    bench.note("store.accept_to_ack_vs_fdatasync_p50", statistics.median(ours[0] / peer[0] for ours, peer in pairs))
    bench.note("store.accept_to_ack_us_p50", statistics.median(ours[0] for ours, _ in pairs))
    bench.note("store.fdatasync_us_p50", statistics.median(peer[0] for _, peer in pairs))
    bench.note("store.group_commit_vs_single", statistics.median(ours[1] / peer[1] for ours, peer in pairs))
    bench.note("store.acknowledged_per_second", round(statistics.median(ours[1] for ours, _ in pairs)))
