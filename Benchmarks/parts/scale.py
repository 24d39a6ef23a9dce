"""What sessions cost: those that are live, by number, and those that sleep while much has ended before them."""
import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from crowd import STARTING, Crowd
from harness import children, contents, cpu_ms, memory_mb
from parts import sleeping

GOALS = {}


def answer_ms(ends):
    return sorted((end["shown"] - end["said"]) * 1000 for end in ends)


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


def live(bench, count):
    """A daemon with so many live sessions."""
    name = f"scale.live_{count}"
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
            "cold_start_s": cold_s, "answer_ms_p50": warm[len(warm) // 2], "answer_ms_p99": warm[len(warm) * 99 // 100],
            "burst_s": max(end["shown"] for end in burst) - min(end["said"] for end in burst),
            "cpu_ms_by_message": spent / messages, "idle_cpu_ms_per_minute": idle, "daemon_rss_mb": memory,
            "agent_pss_mb": memory_mb(agents) / count,
        }
    crowd.disconnect()
    figures["stop_ms"] = daemon.stop_ms
    for figure, value in figures.items():
        bench.note(f"{name}.{figure}", value)
    return figures


def crowd_round(crowd, conversations, messages, gap):
    """Says so many messages, a conversation's next one only after all others had theirs."""
    ends, number = [], 0
    while len(ends) < messages:
        number += 1
        ends += crowd.tell(f"note {number} of many", conversations[:messages - len(ends)], gap)
    return ends


def measure(bench):
    counts = bench.amount((10, 100, 990), (1, 2, 3))
    figures = {count: live(bench, count) for count in counts}
    few, many = figures[counts[0]], figures[counts[-1]]
    name = f"scale.live_{counts[-1]}"
    bench.note(f"{name}.daemon_kb_by_session",
               (many["daemon_rss_mb"] - few["daemon_rss_mb"]) * 1024 / (counts[-1] - counts[0]))
    for figure in ("cpu_ms_by_message", "answer_ms_p99"):
        bench.note(f"{name}.{figure}_vs_{counts[0]}", many[figure] / few[figure])
    alone = by_hand(bench, counts[-1])
    bench.note(f"scale.by_hand_{counts[-1]}_s", alone)
    bench.note(f"{name}.cold_start_vs_by_hand", many["cold_start_s"] / alone)
    sleeping.measure(bench)
