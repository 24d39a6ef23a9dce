"""The floor of our Discord figures: a bot that takes whatever comes over the gateway's socket for the next message, without looking
at it, and gives the agent words that were ready before. Two processes pass them on, as our plugin and our daemon do, and the
second appends them to a file with fdatasync first, as our daemon stores a message."""
import base64
import json
import os
import socket
import subprocess
import sys

PORT, TOOL, FILE = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def frame(text):
    """Masked, as a client must; with zeros, which change nothing."""
    payload = text.encode()
    assert 126 <= len(payload) < 65536
    return bytes([0x81, 0xFE]) + len(payload).to_bytes(2, "big") + bytes(4) + payload


agent = subprocess.Popen([os.path.dirname(__file__) + "/tap.py", "--mode", "rpc"], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL)
out = agent.stdin.fileno()
# From the agent towards the bot.
for storage in ([FILE], []):
    relay = subprocess.Popen([TOOL, "pass", *storage], stdin=subprocess.PIPE, stdout=out)
    out = relay.stdin.fileno()
lines = [json.dumps({"id": "1", "type": "prompt", "message": f"note {number} of many"}).encode() + b"\n"
         for number in range(1000)]
gateway = socket.create_connection(("127.0.0.1", PORT))
gateway.sendall((f"GET /?v=10&encoding=json&compress=zlib-stream HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nUpgrade: websocket\r\n"
                 f"Connection: Upgrade\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                 "Sec-WebSocket-Version: 13\r\n\r\n").encode())
gateway.recv(65536)
gateway.sendall(frame(json.dumps({"op": 2, "d": {
    "token": "the-token", "intents": 0, "properties": {"os": "linux", "browser": "idle", "device": "x" * 60}}})))
# HELLO, READY and GUILD_CREATE, together or not.
gateway.settimeout(0.5)
try:
    while gateway.recv(65536):
        pass
except TimeoutError:
    gateway.settimeout(None)
for line in lines:
    if not gateway.recv(65536):
        break
    os.write(out, line)
