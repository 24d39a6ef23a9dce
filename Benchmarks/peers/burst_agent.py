"""An agent that answers a prompt with many deltas, as fast as they are taken."""
import json
import os
import sys

DELTAS = int(os.environ["BURST_DELTAS"])
PIECE = 200


def write(event):
    sys.stdout.buffer.write(json.dumps(event, separators=(",", ":")).encode() + b"\n")


def burst():
    write({"type": "agent_start"})
    write({"type": "message_start", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}})
    delta = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "word " * 20}}
    line = json.dumps(delta, separators=(",", ":")).encode() + b"\n"
    for _ in range(DELTAS // PIECE):
        sys.stdout.buffer.write(line * PIECE)
    write({"type": "message_end", "message": {"role": "assistant", "content": [{"type": "text", "text": "done"}], "stopReason": "stop"}})
    write({"type": "agent_end", "messages": []})
    write({"type": "agent_settled"})
    sys.stdout.buffer.flush()


def serve():
    for line in sys.stdin.buffer:
        command = json.loads(line)
        answer = {"type": "response", "command": command["type"], "success": True}
        if "id" in command:
            answer["id"] = command["id"]
        answer["data"] = {"get_state": {"isStreaming": False, "sessionId": "burst"}, "get_commands": {"commands": []}}.get(
            command["type"], {})
        write(answer)
        sys.stdout.buffer.flush()
        if command["type"] == "prompt":
            burst()


if "--help" in sys.argv:
    print("--session-id ID")
elif "--burst" in sys.argv:
    sys.stdin.buffer.readline()
    burst()
else:
    serve()
