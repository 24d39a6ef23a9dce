"""A client of session bridges as an author would write it from docs/bridge-protocol.md alone. Checks one bridge of $PI_BRIDGE_DIR,
whose session is the demo agent's, and prints each finding that differs from the document; the exit code is 1 then."""
import json
import os
import socket
import stat
import sys
import uuid

FOLDER = os.environ["PI_BRIDGE_DIR"]
problems = []


def check(what, holds, seen=None):
    if not holds:
        problems.append(f"{what}: {json.dumps(seen)}")


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class Client:
    """One connection; lines end with a newline, and events come between the answers."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r", encoding="utf-8", newline="\n")
        self.events = []

    def line(self):
        line = self.lines.readline()
        return json.loads(line) if line else None

    def send(self, text):
        self.socket.sendall((text + "\n").encode())

    def response(self):
        while (line := self.line()) is not None:
            if line["type"] != "event":
                return line
            self.events.append(line)
        return None

    def ask(self, type, **members):
        number = uuid.uuid4().hex
        self.send(json.dumps({"id": number, "type": type, **members}))
        answer = self.response()
        check(f"{type} is answered under its id", answer["type"] == "response" and answer["id"] == number, answer)
        return answer

    def event(self, name, holds=lambda data: True):
        """The next event of this name, also one that came before an answer."""
        while True:
            line = self.events.pop(0) if self.events else self.line()
            if line is None or line["type"] == "event" and line["event"] == name and holds(line["data"]):
                return line


# Discovery
check("the folders are private", all(mode(f"{FOLDER}/{name}") == 0o700 for name in (".", "instances", "raw")))
files = [name for name in os.listdir(f"{FOLDER}/instances") if name.endswith(".json")]
check("there is one registry file", len(files) == 1, files)
with open(f"{FOLDER}/instances/{files[0]}") as file:
    record = json.load(file)
check("the registry file is named after the process", files[0] == f"{record['pid']}.json", record)
check("it names the protocol", record["protocol"] == "pi-session-bridge.v1", record)
check("the process lives", os.path.exists(f"/proc/{record['pid']}"), record)
for path in (record["socketPath"], f"{FOLDER}/instances/{files[0]}", f"{FOLDER}/raw/{record['pid']}.jsonl"):
    check(f"{path} is private", mode(path) == 0o600)

# Greeting and small requests
client = Client(record["socketPath"])
hello = client.line()
check("the greeting is first", hello["type"] == "bridge_hello" and hello["protocol"] == record["protocol"], hello)
check("it has the state", hello["state"]["sessionId"] == record["sessionId"], hello)
check("ping", client.ask("ping")["data"]["protocol"] == record["protocol"])
for alias in ("state", "get_state"):
    answer = client.ask(alias)
    check(alias, answer["command"] == "get_state" and answer["data"]["isIdle"] is True, answer)
check("commands", isinstance(client.ask("commands")["data"]["commands"], list))
check("questions", client.ask("questions")["data"] == {"available": True, "questions": []})

# Errors
answer = client.ask("nonsense")
check("an unknown type", answer["error"] == "Unknown command type: nonsense", answer)
client.send("no json\r")
answer = client.response()
check("a line that is no JSON", answer["command"] == "parse" and "id" not in answer and not answer["success"], answer)
client.send("")
client.send(json.dumps({"id": 1, "type": "emit", "message": "x" * (1 << 20)}))
check("a line that is too long", "exceeds" in client.response()["error"])
answer = client.ask("prompt", message=7)
check("a prompt without text", answer["error"] == "Expected string message or content array", answer)
answer = client.ask("shutdown")
check("a shutdown without confirm", answer["error"] == "Set confirm:true to shutdown this Pi session", answer)
check("an answer to no question", client.ask("answer", requestId="que_7", answers=[["Yes"]])["success"] is False)

# Messages and events
answer = client.ask("send", message="from Python")
check("a message", answer["command"] == "prompt" and answer["data"] == {"deliveredAs": "now", "idleBeforeSend": True}, answer)
check("its input", client.event("input")["data"]["textPreview"] == "from Python")
end = client.event("agent_end")
check("its end", "from Python" in end["data"]["finalTextPreview"] and end["truncated"] is True, end)
client.ask("subscribe", enabled=False)
client.ask("emit", message="nobody hears it")
# It is published when the history has it.
while not client.ask("history", event="bridge_emit")["data"]["events"]:
    pass
client.ask("subscribe", enabled=True)
client.ask("emit", message="heard")
check("events are off and on", client.event("bridge_emit")["data"]["message"] == "heard")

# A question
client.ask("prompt", message="/confirm")
asked = client.event("question", lambda data: data["action"] == "asked")["data"]
listed = client.ask("questions")["data"]["questions"]
check("the question is listed", [one["id"] for one in listed] == [asked["requestId"]], listed)
answer = client.ask("answer", requestId=asked["requestId"], answers=[["Yes"]])
check("it is answered", answer["data"] == {"answered": True, "requestId": asked["requestId"]}, answer)
settled = client.event("question", lambda data: data["requestId"] == asked["requestId"])["data"]
check("that is told", settled["action"] == "answered" and settled["answer"] == "yes", settled)

# History
history = client.ask("history", event="bridge_emit", limit=1)["data"]
check("history", [one["data"]["message"] for one in history["events"]] == ["heard"], history)
check("its metadata", history["totalEvents"] == 1 and history["responseTruncated"] is False, history)
raw = client.ask("history", event="agent_end", raw=True)["data"]["events"][0]
check("whole events", raw["rawRestored"] is True and isinstance(raw["data"], dict), raw)

# The end
client.ask("shutdown", confirm=True)
while (line := client.line()) is not None and line["type"] != "bridge_stop":
    pass
check("the end is told", line is not None and line["type"] == "bridge_stop", line)
check("then the connection closes", client.line() is None)

for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
