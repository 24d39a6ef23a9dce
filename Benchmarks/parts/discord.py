"""The cost of a message between Discord and the agent: ours, the usual bot on discord.py, and a floor of bare processes, at the
same fake Discord with the same agent, in turn."""
import contextlib
import json
import os
import statistics
import subprocess
import threading
import time

from harness import LeftOut, children, contents, memory_mb, percentile

GOALS = {
    "discord.message_to_prompt_vs_floor": ("<=", 3), "discord.answer_done_vs_peer": ("<=", 2),
    "discord.memory_vs_peer": ("<=", 0.8), "discord.crowd_p99_vs_peer": ("<=", 0.2),
    "discord.crowd_broken": ("<=", 0), "discord.crowd_refused": ("<=", 0),
}
ANN, DIRECT = "100000000000000001", "500000000000000001"
PEERS = ".build/peers/bin/python"


class FakeDiscord:
    def __init__(self):
        self.process = subprocess.Popen(
            [PEERS, "Tests/Fixtures/fake-discord/server.py", "--whole"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.ports = self.process.stdout.readline().split()[1:]
        self.ledger = []
        self.change = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        self.do(do="limit", count=100000, seconds=1)
        self.do(do="times")

    def read(self):
        for line in self.process.stdout:
            with self.change:
                self.ledger.append(json.loads(line))
                self.change.notify_all()

    def do(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def wait(self, find):
        with self.change:
            while True:
                for event in self.ledger:
                    if find(event):
                        return event
                if not self.change.wait(60):
                    raise SystemExit(f"what was waited for did not happen; the last: {self.ledger[-3:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()


def say(fake, text):
    """When it was written to the gateway's socket."""
    fake.do(do="say", message={"channel_id": DIRECT, "content": text, "author": {"id": ANN}})
    return fake.wait(lambda event: event["happened"] == "dispatched" and event["text"] == text)["at"]


def converse(fake, log, size):
    """Median microseconds from MESSAGE_CREATE on the socket to the prompt, and from the agent's last words to all of them at Discord."""
    inbound, outbound = [], []
    for number, text in notes(size):
        said = say(fake, text)
        shown = fake.wait(lambda event: event["happened"] == "shown" and event["text"].startswith(f"You wrote: {text}")
                          and event["text"] == answer(log, text))
        if number >= size.warm_up:
            inbound.append((at(log, "prompt", text) - said) / 1000)
            outbound.append((shown["at"] - at(log, "said", f"You wrote: {text}")) / 1000)
    return statistics.median(inbound), statistics.median(outbound)


def listen(fake, log, size):
    """Median microseconds to the prompt, of bots that do not answer."""
    inbound = []
    for number, text in notes(size):
        said = say(fake, text)
        while not any(entry["kind"] == "prompt" and entry["text"] == text for entry in entries(log)):
            time.sleep(0.05)
        if number >= size.warm_up:
            inbound.append((at(log, "prompt", text) - said) / 1000)
    return statistics.median(inbound)


def notes(size):
    """What is said one after another; work that a message leaves for later is not counted with the next one."""
    for number in range(size.warm_up + size.messages):
        time.sleep(0.15)
        yield number, f"note {number} of many"


def stream_to_all(fake, log, size):
    """All conversations stream at once: edits a second, the p99 of the delays from the agent's last words to all of
    them at Discord in milliseconds, answers that are not whole, and refusals for haste."""
    for channel in size.crowd:
        tell(fake, channel, "hello")
    for channel in size.crowd:
        fake.wait(lambda event: event["happened"] == "shown" and event["channel"] == channel
                  and event["text"].startswith("You wrote") and "relay works" in event["text"])
    time.sleep(2)
    begin = len(fake.ledger)
    fake.do(do="limit", count=5, seconds=5)
    for channel in size.crowd:
        tell(fake, channel, f"/slow {size.words} of {channel}")
    for channel in size.crowd:
        fake.wait(lambda event: event["happened"] == "shown" and f"(of {channel})" in event["text"])
    time.sleep(2)
    events = fake.ledger[begin:]
    shown = [event for event in events if event["happened"] == "shown"]
    said = {entry["text"].split("(of ")[-1].rstrip(")"): entry for entry in entries(log)
            if entry["kind"] == "said" and "(of " in entry["text"]}
    delays, broken = [], 0
    for channel in size.crowd:
        last = [event for event in shown if event["channel"] == channel and f"(of {channel})" in event["text"]]
        whole = last and last[-1]["text"].split() == said[channel]["text"].split()
        broken += not whole
        delays.append((last[0]["at"] - said[channel]["at"]) / 1e6)
    known, edits = set(), []
    for event in shown:
        if event["id"] in known:
            edits.append(event["at"])
        known.add(event["id"])
    rate = len(edits) / ((edits[-1] - edits[0]) / 1e9)
    return (rate, percentile(delays, 99), broken,
            sum(event["happened"] == "429" for event in events))


def tell(fake, channel, text):
    fake.do(do="say", message={"channel_id": channel, "content": text, "author": {"id": ANN}})


def entries(log):
    with open(log) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def answer(log, text):
    return next((entry["text"] for entry in entries(log) if entry["kind"] == "said" and text in entry["text"]), None)


def at(log, kind, text):
    return next(entry["at"] for entry in entries(log) if entry["kind"] == kind and text in entry["text"])


class Size:
    """How much is measured. In the crowd all conversations are streamed to at once."""

    def __init__(self, bench):
        self.warm_up, self.messages = bench.amount((5, 60), (1, 3))
        self.crowd = [f"7{number:017}" for number in range(100, bench.amount(150, 103))]
        self.words = bench.amount(60, 20)


def tapped(bench):
    """A home whose agent writes down when prompts and last words come by, and that log."""
    home = bench.home()
    log = home.path + "/tap.log"
    open(log, "w").close()
    home.environment.update(TAPPED_AGENT=bench.demo_agent, TAP_LOG=log)
    return home, log


@contextlib.contextmanager
def process(command, environment):
    """A process that has ended when the block ends."""
    child = subprocess.Popen(command, env=environment)
    try:
        yield child
    finally:
        child.terminate()
        child.wait()


def ours(bench, size, body=converse):
    home, log = tapped(bench)
    with FakeDiscord() as fake:
        home.configure(f"pi: {{executable: {os.getcwd()}/Benchmarks/peers/tap.py}}\n"
                       f"sessions: {{directory: {home.path}, maximum: {len(size.crowd) + 1}}}\n"
                       f"discord: {{token: the-token, api: 'http://127.0.0.1:{fake.ports[1]}', auth: {{users: ['{ANN}']}}, "
                       "editIntervalMilliseconds: 700, reactions: {accepted: ''}}\n")
        with home.daemon() as daemon:
            fake.wait(lambda event: event["happened"] == "identify")
            figures = body(fake, log, size)
            relay = [daemon.pid, *(pid for pid in children(daemon.pid) if "tap.py" not in contents(f"/proc/{pid}/cmdline"))]
            return (*figures, memory_mb(relay))


def peer(bench, size, body=converse):
    home, log = tapped(bench)
    with FakeDiscord() as fake:
        environment = dict(
            home.environment, DISCORD_API=f"http://127.0.0.1:{fake.ports[1]}",
            DISCORD_GATEWAY=f"ws://127.0.0.1:{fake.ports[0]}", DISCORD_BOT_TOKEN="the-token", ALLOWED_USER=ANN,
            PI_EXECUTABLE=os.getcwd() + "/Benchmarks/peers/tap.py")
        with process([PEERS, "Benchmarks/peers/discord_bot.py"], environment) as bot:
            fake.wait(lambda event: event["happened"] == "identify")
            time.sleep(1)
            return (*body(fake, log, size), memory_mb([bot.pid]))


def floor(bench, size):
    """The time that is left when no more is done than must be: two processes pass the bytes on, and one waits for the disk."""
    home, log = tapped(bench)
    with FakeDiscord() as fake, process(
            [PEERS, "Benchmarks/peers/idle_bot.py", fake.ports[0], bench.tool, home.path + "/appended"], home.environment):
        fake.wait(lambda event: event["happened"] == "dispatched" and event["event"] == "GUILD_CREATE")
        time.sleep(1)
        return listen(fake, log, size)


def measure(bench):
    if subprocess.run(["scripts/setup-peers"]).returncode:
        raise SystemExit("scripts/setup-peers failed")
    if not os.path.exists(".build/peers/installed"):
        raise LeftOut("discord.py and websockets are not installed; run scripts/setup-peers where PyPI can be reached")
    size = Size(bench)
    # In turn, so that a machine that is slow for a while is slow for all.
    rounds = [(ours(bench, size), peer(bench, size), floor(bench, size)) for _ in range(bench.amount(3, 1))]
    crowd = {"": ours(bench, size, stream_to_all), "peer_": peer(bench, size, stream_to_all)}
    for who, figures in crowd.items():
        for name, figure in zip(("edits_per_s", "p99_delay_ms", "broken", "refused"), figures):
            bench.note(f"discord.crowd_{who}{name}", figure)
    bench.note("discord.crowd_p99_vs_peer", crowd[""][1] / crowd["peer_"][1])
    middle = lambda body: statistics.median(body(*one) for one in rounds)
    bench.note("discord.message_to_prompt_vs_floor", middle(lambda ours, peer, floor: ours[0] / floor))
    bench.note("discord.answer_done_vs_peer", middle(lambda ours, peer, floor: ours[1] / peer[1]))
    bench.note("discord.memory_vs_peer", middle(lambda ours, peer, floor: ours[2] / peer[2]))
    bench.note("discord.message_to_prompt_floor_us", middle(lambda ours, peer, floor: floor))
    for name, index in (("message_to_prompt_us", 0), ("answer_done_us", 1), ("memory_mb", 2)):
        bench.note(f"discord.{name}", middle(lambda ours, peer, floor: ours[index]))
        bench.note(f"discord.peer_{name}", middle(lambda ours, peer, floor: peer[index]))
