"""What a message costs between Discord and the agent: ours, and the usual bot on discord.py, at the same fake Discord with the
same agent, in turn."""
import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time

MESSAGES = 60
WARM_UP = 5
ANN, DIRECT = "100000000000000001", "500000000000000001"
# Conversations that are all streamed to at once.
CROWD = [f"7{number:017}" for number in range(100, 150)]
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

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024


def children(pid):
    return [int(child) for child in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()]


def say(fake, text):
    """When it was written to the gateway's socket."""
    fake.do(do="say", message={"channel_id": DIRECT, "content": text, "author": {"id": ANN}})
    return fake.wait(lambda event: event["happened"] == "dispatched" and event["text"] == text)["at"]


def converse(fake, log):
    """Median microseconds from MESSAGE_CREATE on the socket to the prompt, and from the agent's last words to all of them at Discord."""
    inbound, outbound = [], []
    for number in range(MESSAGES + WARM_UP):
        # What the last message has left to be done is not counted with this one.
        time.sleep(0.15)
        text = f"note {number} of many"
        said = say(fake, text)
        shown = fake.wait(lambda event: event["happened"] == "shown" and event["text"].startswith(f"You wrote: {text}")
                          and event["text"] == answer(log, text))
        if number < WARM_UP:
            continue
        inbound.append((at(log, "prompt", text) - said) / 1000)
        outbound.append((shown["at"] - at(log, "said", f"You wrote: {text}")) / 1000)
    return statistics.median(inbound), statistics.median(outbound)


def listen(fake, log):
    """Median microseconds to the prompt, of bots that do not answer."""
    inbound = []
    for number in range(MESSAGES + WARM_UP):
        time.sleep(0.15)
        text = f"note {number} of many"
        said = say(fake, text)
        while not any(entry["kind"] == "prompt" and entry["text"] == text for entry in entries(log)):
            time.sleep(0.05)
        if number >= WARM_UP:
            inbound.append((at(log, "prompt", text) - said) / 1000)
    return (statistics.median(inbound),)


def stream_to_all(fake, log):
    """All conversations stream at once: edits a second, the 99th of a hundred delays from the agent's last words to all of
    them at Discord in milliseconds, answers that are not whole, and refusals for haste."""
    for channel in CROWD:
        tell(fake, channel, "hello")
    for channel in CROWD:
        fake.wait(lambda event: event["happened"] == "shown" and event["channel"] == channel
                  and event["text"].startswith("You wrote") and "relay works" in event["text"])
    time.sleep(2)
    begin = len(fake.ledger)
    fake.do(do="limit", count=5, seconds=5)
    for channel in CROWD:
        tell(fake, channel, f"/slow 60 of {channel}")
    for channel in CROWD:
        fake.wait(lambda event: event["happened"] == "shown" and f"(of {channel})" in event["text"])
    time.sleep(2)
    events = fake.ledger[begin:]
    shown = [event for event in events if event["happened"] == "shown"]
    said = {entry["text"].split("(of ")[-1].rstrip(")"): entry for entry in entries(log)
            if entry["kind"] == "said" and "(of " in entry["text"]}
    delays, broken = [], 0
    for channel in CROWD:
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
    return rate, sorted(delays)[len(delays) * 99 // 100 - 1], broken, sum(event["happened"] == "429" for event in events)


def tell(fake, channel, text):
    fake.do(do="say", message={"channel_id": channel, "content": text, "author": {"id": ANN}})


def entries(log):
    with open(log) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def answer(log, text):
    return next((entry["text"] for entry in entries(log) if entry["kind"] == "said" and text in entry["text"]), None)


def at(log, kind, text):
    return next(entry["at"] for entry in entries(log) if entry["kind"] == kind and text in entry["text"])


def ours(programs, folder, body=converse):
    fake, home = FakeDiscord(), tempfile.mkdtemp(dir=folder)
    log = home + "/tap.log"
    open(log, "w").close()
    environment = dict(os.environ, PI_RELAY_HOME=home, TAPPED_AGENT=programs + "/pi-relay-demo-agent", TAP_LOG=log)
    with open(home + "/relay.yaml", "w") as file:
        file.write(f"pi: {{executable: {os.getcwd()}/Benchmarks/peers/tap.py}}\n"
                   f"sessions: {{directory: {home}, maximum: {len(CROWD) + 1}}}\n"
                   f"discord: {{token: the-token, api: 'http://127.0.0.1:{fake.ports[1]}', auth: {{users: ['{ANN}']}}, "
                   "editIntervalMilliseconds: 700, reactions: {accepted: ''}}\n")
    os.chmod(home + "/relay.yaml", 0o600)
    daemon = subprocess.Popen([programs + "/pi-relayd", "start"], env=environment, stderr=subprocess.DEVNULL)
    try:
        fake.wait(lambda event: event["happened"] == "identify")
        figures = body(fake, log)
        tapped = subprocess.run(["pgrep", "-f", "peers/tap.py"], capture_output=True, text=True).stdout.split()
        memory = sum(pss(pid) for pid in [daemon.pid, *children(daemon.pid)] if str(pid) not in tapped)
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()
        fake.end()
    return (*figures, memory)


def peer(programs, folder, body=converse):
    fake, home = FakeDiscord(), tempfile.mkdtemp(dir=folder)
    log = home + "/tap.log"
    open(log, "w").close()
    environment = dict(
        os.environ, DISCORD_API=f"http://127.0.0.1:{fake.ports[1]}", DISCORD_GATEWAY=f"ws://127.0.0.1:{fake.ports[0]}",
        DISCORD_BOT_TOKEN="the-token", ALLOWED_USER=ANN, PI_EXECUTABLE=os.getcwd() + "/Benchmarks/peers/tap.py",
        TAPPED_AGENT=programs + "/pi-relay-demo-agent", TAP_LOG=log, PI_CODING_AGENT_DIR=home)
    bot = subprocess.Popen([PEERS, "Benchmarks/peers/discord_bot.py"], env=environment)
    try:
        fake.wait(lambda event: event["happened"] == "identify")
        time.sleep(1)
        figures = body(fake, log)
        memory = pss(bot.pid)
    finally:
        bot.terminate()
        bot.wait()
        fake.end()
    return (*figures, memory)


def floor(programs, folder, relays):
    """What is left when nothing is done: a bot that decodes and stores nothing, through as many more processes."""
    fake, home = FakeDiscord(), tempfile.mkdtemp(dir=folder)
    log = home + "/tap.log"
    open(log, "w").close()
    environment = dict(os.environ, TAPPED_AGENT=programs + "/pi-relay-demo-agent", TAP_LOG=log, PI_CODING_AGENT_DIR=home)
    bot = subprocess.Popen([PEERS, "Benchmarks/peers/idle_bot.py", fake.ports[0], str(relays)], env=environment)
    try:
        fake.wait(lambda event: event["happened"] == "dispatched" and event["event"] == "GUILD_CREATE")
        time.sleep(1)
        return listen(fake, log)[0]
    finally:
        bot.terminate()
        bot.wait()
        fake.end()


def measure(programs, scratch, note, runs=3):
    """In turn, so that a machine that is slow for a while is slow for all. In memory the commit costs next to nothing."""
    rounds, idle = [], []
    with tempfile.TemporaryDirectory(prefix="pi-relay-bench-", dir="/dev/shm") as memory:
        for _ in range(runs):
            rounds.append((ours(programs, memory), ours(programs, scratch), peer(programs, scratch)))
            idle.append((floor(programs, scratch, 0), floor(programs, scratch, 2)))
    middle = lambda body: statistics.median(body(*one) for one in rounds)
    crowd = {"": ours(programs, scratch, stream_to_all), "peer_": peer(programs, scratch, stream_to_all)}
    for who, figures in crowd.items():
        for name, figure in zip(("edits_per_s", "p99_delay_ms", "broken", "refused"), figures):
            note(f"discord.crowd_{who}{name}", figure, 0 if not who and name in ("broken", "refused") else None)
    note("discord.message_to_prompt_vs_peer", middle(lambda bare, ours, peer: peer[0] / bare[0]), 3, ">=")
    note("discord.message_to_prompt_durable_vs_peer", middle(lambda bare, ours, peer: ours[0] / peer[0]), 1.5)
    note("discord.answer_done_vs_peer", middle(lambda bare, ours, peer: ours[1] / peer[1]), 1)
    note("discord.memory_vs_peer", middle(lambda bare, ours, peer: ours[2] / peer[2]), 0.6)
    for name, index in (("message_to_prompt_us", 0), ("answer_done_us", 1), ("memory_mb", 2)):
        note(f"discord.{name}", middle(lambda bare, ours, peer: ours[index]))
        note(f"discord.peer_{name}", middle(lambda bare, ours, peer: peer[index]))
    for relays, name in enumerate(("idle", "idle_in_three_processes")):
        note(f"discord.message_to_prompt_{name}_us", statistics.median(one[relays] for one in idle))
        # What the first of the ratios above would be, if we did nothing at all.
        note(f"discord.message_to_prompt_{name}_vs_peer",
             statistics.median(peer[0] / one[relays] for one, (_, _, peer) in zip(idle, rounds)))
    note("discord.message_to_prompt_in_memory_us", middle(lambda bare, ours, peer: bare[0]))
