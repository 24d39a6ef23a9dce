"""Microseconds from the agent's write to the messenger's read, against a bare round trip between two processes."""
import os
import shutil
import statistics
import subprocess

from harness import contents, wait_until

GOALS = {"relay.delta_to_plugin_vs_pingpong_p50": ("<=", 4)}


def streaming(bench, during=lambda home: None):
    """The median age of a delta in microseconds, and the longest silence of the stream in milliseconds."""
    home = bench.home()
    agent, result = home.path + "/latency-agent", home.path + "/result"
    home.configure(f"pi: {{executable: {agent}}}\n"
                   f"latency: {{auth: {{everyone: true}}, editIntervalMilliseconds: 0, result: {result}}}\n")
    shutil.copy(bench.tool, agent)
    home.add_plugin(bench.tool, "latency")
    with home.daemon():
        wait_until(lambda: os.path.exists(result + ".started"))
        during(home)
        return [float(word) for word in wait_until(lambda: contents(result)).split()]


def round_trip(bench):
    (there_out, there_in), (back_out, back_in) = os.pipe(), os.pipe()
    echo = subprocess.Popen([bench.tool, "echo"], stdin=there_out, stdout=back_in)
    ping = subprocess.Popen([bench.tool, "pingpong"], stdin=back_out, stdout=there_in, stderr=subprocess.PIPE, text=True)
    for end in (there_out, there_in, back_out, back_in):
        os.close(end)
    took = float(ping.communicate()[1])
    echo.wait()
    return took


def measure(bench):
    # In turn, so that a machine that is slow for a while is slow for both.
    pairs = [(streaming(bench)[0], round_trip(bench)) for _ in range(bench.runs)]
    bench.note("relay.delta_to_plugin_vs_pingpong_p50", statistics.median(way / trip for way, trip in pairs))
    bench.note("relay.delta_to_plugin_us_p50", statistics.median(way for way, _ in pairs))
    bench.note("relay.pingpong_us_p50", statistics.median(trip for _, trip in pairs))
