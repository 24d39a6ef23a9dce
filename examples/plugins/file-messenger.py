#!/usr/bin/env python3
"""A messenger whose platform is two files: lines written into the FIFO `inbox` are messages, answers are appended to
`outbox`. Everything a plugin needs is here; see docs/plugin-protocol.md. Configuration: {"inbox": PATH, "outbox": PATH}."""
import json
import os
import sys
import threading
import time

if "PI_RELAY_PLUGIN" not in os.environ:
    sys.exit("This is a plugin of pi-relay; put it into the plugin folder, or try: pi-relayd plugins check " + sys.argv[0])

lock = threading.Lock()
answers = {}  # our request's id -> [event, answer]
config = {}


def say(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method, params, ids=iter(range(1, 1 << 60))):
    """Sends a request of ours; returns its result. The host may be busy: then it is sent again later."""
    while True:
        number = next(ids)
        slot = answers[number] = [threading.Event(), None]
        say({"id": number, "method": method, "params": params})
        slot[0].wait()
        if "error" not in slot[1]:
            return slot[1]["result"]
        if slot[1]["error"]["code"] != -32001:
            raise RuntimeError(slot[1]["error"]["message"])
        time.sleep(0.1)


def read_inbox():
    """Each line becomes a message; the next is read only once the last is stored."""
    if not os.path.exists(config["inbox"]):
        os.mkfifo(config["inbox"], 0o600)
    while True:
        with open(config["inbox"]) as inbox:
            for line in inbox:
                ask("message.received", {
                    "id": str(time.time_ns()), "text": line.rstrip("\n"),
                    "conversation": {"id": "file", "kind": "dm"}, "sender": {"id": "writer", "name": "writer"}})


def answer(request):
    method, params = request["method"], request.get("params", {})
    if method == "initialize":
        config.update(params["config"])
        missing = [{"path": key, "message": "is missing"} for key in ("inbox", "outbox") if key not in config]
        if missing:
            return {"error": {"code": -32002, "message": "configuration", "data": missing}}
        threading.Thread(target=read_inbox, daemon=True).start()
        return {"result": {"protocolVersion": 1, "name": "file-messenger", "version": "1", "kinds": ["messenger"],
                           "capabilities": {"maximumTextLength": 2000, "lengthUnit": "scalars", "dialect": "plain"}}}
    if method == "message.send":
        with open(config["outbox"], "a") as outbox:
            outbox.write(params["text"] + "\n")
        return {"result": {"message": params["key"]}}
    if method in ("ping", "shutdown"):
        return {"result": {}}
    return {"error": {"code": -32601, "message": "there is no method " + method}}


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message:
        if "id" not in message:
            continue  # a notification, which nobody answers
        say({"id": message["id"], **answer(message)})
    elif message.get("id") in answers:
        slot = answers.pop(message["id"])
        slot[1] = message
        slot[0].set()
