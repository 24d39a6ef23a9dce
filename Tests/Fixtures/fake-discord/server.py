"""A Discord of the tests' own on loopback: a gateway with zlib-stream, sessions that can be resumed, and a ledger of what
people see. Commands come as lines of JSON on standard input; what happens is told as lines of JSON on standard output.

    {"do": "say", "message": {...}}     dispatch MESSAGE_CREATE (MESSAGE_UPDATE, MESSAGE_DELETE with "event")
    {"do": "drop"}                      break every gateway connection off
    {"do": "close", "code": 4014}       close them with a code
    {"do": "zombie"}                    acknowledge no heartbeat any more, until the next connection
    {"do": "invalidate"}                forget all sessions
    {"do": "fail", "statuses": [503]}   answer the next requests for messages with these; 0 does what is asked and hangs up
    {"do": "limit", "count": 5, "seconds": 5}  requests that one channel's bucket takes in that time
"""
import asyncio
import http.server
import itertools
import json
import sys
import threading
import time
import zlib

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

TOKEN = "the-token"
lock = threading.RLock()
ids = itertools.count(10 ** 17)
loop = None
connections = set()
sessions = {}
messages = {}
nonces = {}
failures = []
limit = {"count": 5, "seconds": 0.2}
sent = {}
state = {"zombie": False, "ports": []}


def tell(**what):
    with lock:
        print(json.dumps(what), flush=True)


class Connection:
    def __init__(self, socket):
        self.socket = socket
        self.session = None
        self.deflater = zlib.compressobj()
        self.turn = asyncio.Lock()

    async def send(self, op, data=None, event=None, number=None):
        text = json.dumps({"op": op, "d": data, "t": event, "s": number}).encode()
        async with self.turn:
            packed = self.deflater.compress(text) + self.deflater.flush(zlib.Z_SYNC_FLUSH)
            # In two frames, as large ones come.
            await self.socket.send(packed[:7])
            await self.socket.send(packed[7:])

    async def dispatch(self, event, data):
        session = sessions[self.session]
        session["events"].append((event, data))
        await self.send(0, data, event, len(session["events"]))


async def gateway(socket):
    connection = Connection(socket)
    connections.add(connection)
    state["zombie"] = False
    try:
        await connection.send(10, {"heartbeat_interval": 300})
        async for text in socket:
            payload = json.loads(text)
            op, data = payload["op"], payload["d"]
            if op == 1:
                if not state["zombie"]:
                    await connection.send(11)
            elif op == 2:
                tell(happened="identify", intents=data["intents"])
                if data["token"] != TOKEN:
                    await socket.close(4004, "Authentication failed.")
                    return
                connection.session = f"session-{next(ids)}"
                sessions[connection.session] = {"events": []}
                await connection.dispatch("READY", {
                    "session_id": connection.session, "resume_gateway_url": f"ws://127.0.0.1:{state['ports'][0]}",
                    "user": {"id": "1", "username": "relay", "bot": True}})
            elif op == 6:
                tell(happened="resume", sequence=data["seq"])
                session = sessions.get(data["session_id"])
                if session is None or data["seq"] > len(session["events"]):
                    await connection.send(9, False)
                    continue
                connection.session = data["session_id"]
                for number in range(data["seq"], len(session["events"])):
                    event, missed = session["events"][number]
                    await connection.send(0, missed, event, number + 1)
                await connection.dispatch("RESUMED", {})
    except ConnectionClosed:
        pass
    finally:
        connections.discard(connection)
        tell(happened="closed", code=socket.close_code)


class REST(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def say(self, status, data, headers=()):
        body = json.dumps(data).encode() if data is not None else b""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = json.loads(body) if body else {}
        parts = self.path.strip("/").split("/")
        if self.headers.get("Authorization") != "Bot " + TOKEN:
            return self.say(401, {"message": "401: Unauthorized", "code": 0})
        if parts == ["gateway", "bot"]:
            return self.say(200, {"url": f"ws://127.0.0.1:{state['ports'][0]}", "shards": 1, "session_start_limit": {
                "total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}})
        if parts[2] == "typing":
            return self.say(204, None)
        with lock:
            headers, refusal = self.bucket(parts[1])
            if refusal is not None:
                return self.say(429, {"message": "You are being rate limited.", "retry_after": refusal, "global": False},
                                headers)
            failure = failures.pop(0) if failures else None
            if failure:
                return self.say(failure, {"message": "as wished", "code": 0}, headers)
            status, result = self.perform(parts, data)
        if failure == 0:
            self.close_connection = True
            return
        self.say(status, result, headers)

    def bucket(self, channel):
        now = time.monotonic()
        times = sent.setdefault(channel, [])
        times[:] = [moment for moment in times if now - moment < limit["seconds"]]
        reset = limit["seconds"] - (now - times[0]) if times else limit["seconds"]
        refused = len(times) >= limit["count"]
        if not refused:
            times.append(now)
        headers = [("X-RateLimit-Bucket", "messages"), ("X-RateLimit-Limit", str(limit["count"])),
                   ("X-RateLimit-Remaining", str(limit["count"] - len(times))), ("X-RateLimit-Reset-After", f"{reset:.3f}")]
        if refused:
            tell(happened="429")
        return headers, reset if refused else None

    def perform(self, parts, data):
        channel = parts[1]
        if self.command == "POST":
            if not data.get("content") or len(data["content"]) > 2000:
                return 400, {"message": "Invalid Form Body", "code": 50035}
            nonce = data.get("nonce")
            if nonce and data.get("enforce_nonce") and nonce in nonces:
                return 200, nonces[nonce]
            message = {"id": str(next(ids)), "channel_id": channel, "content": data["content"]}
            messages[message["id"]] = message
            if nonce:
                nonces[nonce] = message
            tell(happened="shown", id=message["id"], channel=channel, text=data["content"],
                 pings=data.get("allowed_mentions") != {"parse": []})
            return 200, message
        message = messages.get(parts[3])
        if message is None:
            return 404, {"message": "Unknown Message", "code": 10008}
        if self.command == "PATCH":
            message["content"] = data["content"]
            tell(happened="shown", id=message["id"], channel=channel, text=data["content"],
                 pings=data.get("allowed_mentions") != {"parse": []})
            return 200, message
        del messages[parts[3]]
        tell(happened="removed", id=parts[3])
        return 204, None

    do_GET = do_POST = do_PATCH = do_DELETE = answer


async def obey(command):
    what = command["do"]
    if what == "say":
        for session in list(sessions):
            live = [connection for connection in connections if connection.session == session]
            event = command.get("event", "MESSAGE_CREATE")
            if live:
                await live[0].dispatch(event, command["message"])
            else:
                # Kept for who resumes.
                sessions[session]["events"].append((event, command["message"]))
    elif what == "drop":
        for connection in list(connections):
            connection.socket.transport.abort()
    elif what == "close":
        for connection in list(connections):
            await connection.socket.close(command["code"])
    elif what == "zombie":
        state["zombie"] = True
    elif what == "invalidate":
        sessions.clear()
    elif what == "fail":
        failures.extend(command["statuses"])
    elif what == "limit":
        limit.update(count=command["count"], seconds=command["seconds"])


def listen():
    for line in sys.stdin:
        asyncio.run_coroutine_threadsafe(obey(json.loads(line)), loop).result()
    loop.call_soon_threadsafe(loop.stop)


async def main():
    global loop
    loop = asyncio.get_running_loop()
    rest = http.server.ThreadingHTTPServer(("127.0.0.1", 0), REST)
    rest.daemon_threads = True
    threading.Thread(target=rest.serve_forever, daemon=True).start()
    server = await serve(gateway, "127.0.0.1", 0, max_size=None, compression=None)
    state["ports"] = [server.sockets[0].getsockname()[1], rest.server_address[1]]
    print("ports", *state["ports"], flush=True)
    threading.Thread(target=listen, daemon=True).start()
    await asyncio.Future()


try:
    asyncio.run(main())
except RuntimeError:
    pass  # The loop was stopped: standard input has ended.
