"""What sessions cost: those that are live, by number, and those that sleep while much has ended before them."""
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from crowd import STARTING, Crowd
from harness import children, contents, cpu_ms, memory_mb, percentile
from parts import sleeping

# The names are those of the full run; a quick run takes fewer sessions under the same names.
COUNTS = (10, 100, 990)
FEWEST, MOST = COUNTS[0], COUNTS[-1]
LIVE = f"scale.live_{MOST}"
GOALS = {
    f"{LIVE}.daemon_mb_by_session": ("<=", 0.1), f"{LIVE}.cpu_ms_by_message_vs_{FEWEST}": ("<=", 1.3),
    f"{LIVE}.answer_ms_p99_vs_{FEWEST}": ("<=", 1.5), f"scale.cold_start_{MOST}_vs_by_hand": ("<=", 1.5),
} | sleeping.GOALS


def answer_ms(ends):
    return [(end["shown"] - end["said"]) * 1000 for end in ends]


def by_hand(bench, count):
    """Seconds to start so many demo agents without a daemon and to have an answer from each, 16 at once."""
    home = bench.home()
    prompt = json.dumps({"id": "1", "type": "prompt", "message": "first"}).encode() + b"\n"

    def start(number):
        agent = subprocess.Popen(
            [bench.demo_agent, "--mode", "rpc", "--session-id", f"by-hand-{number}"], env=home.environment,
            cwd=home.path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        agents.append(agent)
        agent.stdin.write(prompt)
        agent.stdin.flush()
        while b'"agent_settled"' not in agent.stdout.readline():
            pass

    agents = []
    try:
        began = time.monotonic()
        with ThreadPoolExecutor(STARTING) as pool:
            list(pool.map(start, range(count)))
        return time.monotonic() - began
    finally:
        for agent in agents:
            agent.stdin.close()
        for agent in agents:
            agent.wait()
            agent.stdout.close()


def live(bench, name, count):
    """Figures of a daemon with `count` live sessions, which stand for as many as `name` says."""
    home = bench.home()
    conversations = [f"c{number}" for number in range(count)]
    with Crowd(home, count) as crowd, home.daemon() as daemon:
        crowd.connected()
        cold = crowd.tell("first", conversations)
        cold_s = max(end["shown"] for end in cold) - min(end["said"] for end in cold)
        agents = [pid for pid in children(daemon.pid) if "demo-agent" in contents(f"/proc/{pid}/cmdline")]
        if len(agents) != count:
            raise SystemExit(f"{len(agents)} agents live, {count} were expected")
        # At the same pace whatever the number of sessions, so that it is their number that makes the difference.
        messages = bench.amount(1_000, 20)
        before = cpu_ms([daemon.pid])
        warm = answer_ms(crowd_round(crowd, conversations, messages, gap=0.02))
        spent = cpu_ms([daemon.pid]) - before
        burst = crowd.tell("all at once", conversations)
        memory = memory_mb([daemon.pid], "Rss")
        idle, seconds = cpu_ms([daemon.pid]), bench.amount(20, 1)
        time.sleep(seconds)
        idle = (cpu_ms([daemon.pid]) - idle) * 60 / seconds
        figures = {
            "answer_ms_p50": percentile(warm, 50), "answer_ms_p99": percentile(warm, 99),
            "burst_s": max(end["shown"] for end in burst) - min(end["said"] for end in burst),
            "cpu_ms_by_message": spent / messages, "idle_cpu_ms_per_minute": idle, "daemon_rss_mb": memory,
            "agent_pss_mb": memory_mb(agents) / count,
        }
    crowd.disconnect()
    figures["stop_ms"] = daemon.stop_ms
    bench.note(f"scale.cold_start_{name}_s", cold_s)
    for figure, value in figures.items():
        bench.note(f"scale.live_{name}.{figure}", value)
    return dict(figures, cold_start_s=cold_s)


def crowd_round(crowd, conversations, messages, gap):
    """Says so many messages, a conversation's next one only after all others had theirs."""
    ends, number = [], 0
    while len(ends) < messages:
        number += 1
        ends += crowd.tell(f"note {number} of many", conversations[:messages - len(ends)], gap)
    return ends


def measure(bench):
    counts = dict(zip(COUNTS, bench.amount(COUNTS, (1, 2, 3))))
    figures = {name: live(bench, name, count) for name, count in counts.items()}
    few, many = figures[FEWEST], figures[MOST]
    bench.note(f"{LIVE}.daemon_mb_by_session",
               (many["daemon_rss_mb"] - few["daemon_rss_mb"]) / (counts[MOST] - counts[FEWEST]))
    for figure in ("cpu_ms_by_message", "answer_ms_p99"):
        bench.note(f"{LIVE}.{figure}_vs_{FEWEST}", many[figure] / few[figure])
    alone = by_hand(bench, counts[MOST])
    bench.note(f"scale.by_hand_{MOST}_s", alone)
    bench.note(f"scale.cold_start_{MOST}_vs_by_hand", many["cold_start_s"] / alone)
    sleeping.measure(bench)
