#!/usr/bin/env python3
"""A messenger whose service is a folder: each line of `inbox.txt` is a message, each file in `outbox` an answer.
docs/writing-a-plugin.md explains it part by part. Configuration: {"folder": PATH}."""
import json, os, queue, sys, threading, time

if "PI_RELAY_PLUGIN" not in os.environ:
    sys.exit("This is a plugin of pi-relay. Check it with: pi-relayd plugins check " + sys.argv[0])

# 1. Lines

output = threading.Lock()
answers = {}  # by the id of our request: a queue for the host's answer


def write(message):
    with output:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method, params, ids=iter(range(1, 1 << 60))):
    """Sends a request to the host, and again while the host is busy or cannot store. Returns when it is done with."""
    while True:
        number = next(ids)
        answers[number] = queue.Queue()
        write({"id": number, "method": method, "params": params})
        answer = answers[number].get()
        del answers[number]
        if "error" not in answer:
            return
        if answer["error"]["code"] not in (-32001, -32603):
            return print(f"{method} is refused: {answer['error']['message']}", file=sys.stderr)
        time.sleep(1)


class Failure(Exception):
    def __init__(self, code, message, data=None):
        self.error = {"code": code, "message": message, "data": data}


# 2. The handshake

def initialize(params):
    global folder, done
    folder = params["config"].get("folder")
    if not folder:
        raise Failure(-32002, "the configuration is not usable", [{"path": "folder", "message": "is missing"}])
    done = (params.get("state") or {}).get("lines", 0)
    return {"protocolVersion": 1, "name": "folder-messenger", "version": "1", "kinds": ["messenger"],
            "capabilities": {"maximumTextLength": 4000, "lengthUnit": "scalars", "dialect": "markdown",
                             "edit": True, "minimumEditInterval": 500, "idempotencyKey": True}}


# 3. Messages from people

def read_inbox():
    """Hands over one line after the other, the next only when the host has stored the last."""
    global done
    problem = None
    while True:
        try:
            os.makedirs(f"{folder}/outbox", exist_ok=True)
            with open(f"{folder}/inbox.txt", "a+") as inbox:
                inbox.seek(0)
                lines = [line.strip() for line in inbox if line.endswith("\n")]
            now = None
        except OSError as error:
            lines, now = [], f"{folder} cannot be used: {error.strerror}"
        if now != problem:
            problem = now
            ask("problem.report", {"problem": problem})
        for text in lines[done:]:
            done += 1
            if text:
                ask("message.received", {
                    "id": str(done), "text": text, "conversation": {"id": "folder", "kind": "dm"},
                    "sender": {"id": "owner", "name": "owner"}, "state": {"lines": done}})
        time.sleep(0.2)


# 4. Messages to people

def put(name, text):
    """Replaces the file in one step, so that nobody sees half of it."""
    try:
        with open(f"{folder}/.{name}", "w") as file:
            file.write(text + "\n")
        os.replace(f"{folder}/.{name}", f"{folder}/outbox/{name}")
    except OSError as error:
        raise Failure(-32000, f"{name}: {error.strerror}", {"kind": "transient"})


def send(params):
    """The key is the file's name: the same key again makes no second message."""
    name = params["key"] + ".md"
    put(name, params["text"])
    return {"message": name}


def edit(params):
    if not os.path.exists(f"{folder}/outbox/{params['message']}"):
        raise Failure(-32000, "the message is gone", {"kind": "not_found"})
    put(params["message"], params["text"])
    return {}


def delete(params):
    try:
        os.remove(f"{folder}/outbox/{params['message']}")
    except FileNotFoundError:
        pass
    return {}


# 5. The loop

methods = {"initialize": initialize, "message.send": send, "message.edit": edit, "message.delete": delete,
           "ping": lambda params: {}, "shutdown": lambda params: {}}

for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        if message.get("id") in answers:
            answers[message["id"]].put(message)
    elif "id" in message:  # a message without an id wants no answer
        try:
            method = methods.get(message["method"])
            if not method:
                raise Failure(-32601, "there is no method " + message["method"])
            write({"id": message["id"], "result": method(message.get("params") or {})})
            if message["method"] == "initialize":
                threading.Thread(target=read_inbox, daemon=True).start()
        except Failure as failure:
            write({"id": message["id"], "error": failure.error})
