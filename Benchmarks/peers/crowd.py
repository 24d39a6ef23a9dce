#!/usr/bin/env python3
"""A messenger with any number of conversations, driven through a Unix socket (configuration: {"socket": PATH}).
It reads lines {"text": TEXT, "conversations": [ID, ...], "gap": SECONDS}, writes TEXT into each conversation, one every
`gap` seconds, and sends back a line for each: when the text was handed over, when the whole answer was visible, and how
the message ended."""
import json
import socket
import sys
import threading
import time

# As many as the protocol allows to be unanswered.
WINDOW = threading.Semaphore(64)
lock = threading.Lock()
waiting = {}  # A conversation's message that has not ended: its id, its text, when it was said, when it was answered.
numbers = {}  # The request of ours -> the conversation.
bench = None


def say(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def drive():
    number = 0
    for line in bench.makefile():
        order = json.loads(line)
        due = time.monotonic()
        for conversation in order["conversations"]:
            due += order["gap"]
            time.sleep(max(0, due - time.monotonic()))
            WINDOW.acquire()
            number += 1
            numbers[number] = conversation
            waiting[conversation] = {"id": str(time.time_ns()), "text": order["text"], "said": time.monotonic()}
            say({"id": number, "method": "message.received", "params": {
                "id": waiting[conversation]["id"], "text": order["text"], "sender": {"id": "u", "name": "u"},
                "conversation": {"id": conversation, "kind": "dm"}}})


def report(conversation, end):
    entry = waiting.pop(conversation)
    with lock:
        bench.sendall(json.dumps({"conversation": conversation, "said": entry["said"], "shown": entry.get("shown"),
                                  "end": end}).encode() + b"\n")


def answer(method, params):
    global bench
    if method == "initialize":
        bench = socket.socket(socket.AF_UNIX)
        bench.connect(params["config"]["socket"])
        threading.Thread(target=drive, daemon=True).start()
        return {"protocolVersion": 1, "name": "crowd", "version": "1", "kinds": ["messenger"], "capabilities": {
            "maximumTextLength": 2000, "lengthUnit": "utf16", "dialect": "markdown", "edit": True,
            "minimumEditInterval": 0, "outcomes": True}}
    if method in ("message.send", "message.edit"):
        entry = waiting.get(params["conversation"])
        if entry and entry["text"] in params["text"]:
            entry.setdefault("shown", time.monotonic())
        return {"message": params.get("message") or params["key"]}
    if method == "message.settled" and params["message"] == waiting.get(params["conversation"], {}).get("id"):
        report(params["conversation"], params["outcome"])
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message:
        say({"id": message["id"], "result": answer(message["method"], message.get("params", {}))})
    else:
        WINDOW.release()
        conversation = numbers.pop(message["id"])
        if "error" in message:
            report(conversation, message["error"]["message"])
