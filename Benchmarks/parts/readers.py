"""How fast pi's events are read, against what others need for the same stream through the same pipe."""
import shutil
import statistics
import subprocess
import sys
import time

GOALS = {"delta.time_vs_pipe": ("<=", 1.5), "cumulative.time_vs_pipe": ("<=", 1.5), "delta.events_vs_node": (">=", 16)}
NODE = """
let rest = '', length = 0;
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (rest + chunk).split('\\n'); rest = lines.pop();
  for (const line of lines) { const event = JSON.parse(line).assistantMessageEvent;
    if (event && event.type === 'text_delta') length += event.delta.length; } });
process.stdin.on('end', () => console.log(length));
"""
PYTHON = """
import json, sys
length = 0
for line in sys.stdin.buffer:
    event = json.loads(line).get("assistantMessageEvent")
    if event and event["type"] == "text_delta": length += len(event["delta"])
print(length)
"""


def pipe_time(stream, command):
    """Seconds that a reader needs for a stream that another process writes into a pipe, and what it found."""
    writer = subprocess.Popen(["cat", stream], stdout=subprocess.PIPE)
    began = time.monotonic()
    out = subprocess.run(command, stdin=writer.stdout, capture_output=True)
    took = time.monotonic() - began
    writer.stdout.close()
    writer.wait()
    if out.returncode:
        raise SystemExit(f"{command[0]} failed: {out.stderr.decode()[:300]}")
    return took, out.stdout.strip()


def measure(bench):
    # A delta is an event of about 270 bytes; a cumulative event repeats a reply that grows to 20 KB, twice.
    events = {"delta": bench.amount(500_000, 5_000), "cumulative": bench.amount(5_000, 500)}
    for name, count in events.items():
        stream = f"{bench.scratch}/{name}.jsonl"
        with open(stream, "wb") as file:
            subprocess.run([bench.tool, "generate", name, str(count)], stdout=file, check=True)
        peers = {"relay": [bench.tool, "read"], "wc": ["wc", "-l"], "python": [sys.executable, "-c", PYTHON]}
        if shutil.which("node"):
            peers["node"] = ["node", "-e", NODE]
        elif bench.goals.pop("delta.events_vs_node", None):
            print("node is not installed: its figures are left out")
        # In turn, so that a machine that is slow for a while is slow for all.
        runs = [{peer: pipe_time(stream, command) for peer, command in peers.items()} for _ in range(bench.runs)]
        lengths = {found for run in runs for peer, (_, found) in run.items() if peer != "wc"}
        if len(lengths) > 1:
            raise SystemExit(f"the readers of {name} do not agree on the length of the reply: {lengths}")
        rounds = [{peer: took for peer, (took, _) in run.items()} for run in runs]
        times = {peer: statistics.median(round[peer] for round in rounds) for peer in peers}
        bench.note(f"{name}.time_vs_pipe", statistics.median(round["relay"] / round["wc"] for round in rounds))
        for peer, seconds in times.items():
            bench.note(f"{name}.{peer}_ms", round(seconds * 1000))
        if name == "delta" and "node" in times:
            bench.note("delta.events_vs_node", statistics.median(round["node"] / round["relay"] for round in rounds))
            bench.note("delta.relay_events_per_second", round(count / times["relay"]))
