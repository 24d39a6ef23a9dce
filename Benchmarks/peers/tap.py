#!/usr/bin/env python3
"""Stands between a host and its agent, passes every line on, and writes down when prompts and last words came by."""
import json
import os
import subprocess
import sys
import threading
import time

agent = subprocess.Popen([os.environ["TAPPED_AGENT"], *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
log = open(os.environ["TAP_LOG"], "a", buffering=1)


def note(kind, text):
    log.write(json.dumps({"at": time.monotonic_ns(), "kind": kind, "text": text}) + "\n")


def pass_in():
    for line in sys.stdin.buffer:
        if b'"prompt"' in line:
            note("prompt", json.loads(line).get("message", ""))
        agent.stdin.write(line)
        agent.stdin.flush()
    agent.stdin.close()


if "--help" in sys.argv or "--version" in sys.argv:
    sys.stdout.buffer.write(agent.communicate()[0])
    sys.exit(agent.returncode)
threading.Thread(target=pass_in, daemon=True).start()
for line in agent.stdout:
    if b'"message_end"' in line[:60]:
        message = json.loads(line)["message"]
        if message["role"] == "assistant":
            note("said", "".join(part["text"] for part in message["content"] if part["type"] == "text"))
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.exit(agent.wait())
