"""The gateway: zlib-stream, sessions that can be resumed, and everything that can go wrong with a connection."""
import asyncio
import json
import time
import zlib

from websockets.exceptions import ConnectionClosed

import world
from world import tell

connections = set()
sessions = {}
state = {"zombie": False}


class Connection:
    def __init__(self, socket):
        self.socket = socket
        self.session = None
        self.isCompressed = "zlib-stream" in socket.request.path
        self.deflater = zlib.compressobj()
        self.turn = asyncio.Lock()

    async def send(self, op, data=None, event=None, number=None):
        text = json.dumps({"op": op, "d": data, "t": event, "s": number})
        async with self.turn:
            if not self.isCompressed:
                return await self.socket.send(text)
            packed = self.deflater.compress(text.encode()) + self.deflater.flush(zlib.Z_SYNC_FLUSH)
            # discord.py wants whole messages; ours takes them in two frames, as large ones come.
            if "split" in state:
                await self.socket.send(packed[:7])
                packed = packed[7:]
            at = time.monotonic_ns()
            await self.socket.send(packed)
        if event and "times" in state:
            tell(happened="dispatched", event=event, text=data.get("content"), at=at)

    async def dispatch(self, event, data):
        session = sessions[self.session]
        session["events"].append((event, data))
        await self.send(0, data, event, len(session["events"]))


async def broadcast(event, data):
    """To everybody who is there; kept for who resumes."""
    for session in list(sessions):
        live = [connection for connection in connections if connection.session == session]
        try:
            if live:
                await live[0].dispatch(event, data)
            else:
                sessions[session]["events"].append((event, data))
        except ConnectionClosed:
            pass


def refuse(socket, request):
    """Before the handshake of a connection."""
    return socket.respond(503, "away") if state.get("refuses") else None


async def serve(socket):
    connection = Connection(socket)
    connections.add(connection)
    state["zombie"] = False
    while state.get("silent"):
        await asyncio.sleep(0.02)
    try:
        await connection.send(10, {"heartbeat_interval": state.get("heartbeat", 300)})
        async for text in socket:
            payload = json.loads(text)
            await take(connection, payload["op"], payload["d"])
    except ConnectionClosed:
        pass
    finally:
        connections.discard(connection)
        tell(happened="closed", code=socket.close_code)


async def take(connection, op, data):
    if op == 1:
        if not state["zombie"]:
            await connection.send(11)
    elif op == 2:
        tell(happened="identify", intents=data["intents"])
        if data["token"] != world.TOKEN:
            return await connection.socket.close(4004, "Authentication failed.")
        connection.session = f"session-{world.new_id()}"
        sessions[connection.session] = {"events": []}
        await connection.dispatch("READY", {
            "v": 10, "session_id": connection.session, "resume_gateway_url": world.gateway(),
            "user": world.BOT, "guilds": [{"id": world.GUILD, "unavailable": True}], "private_channels": [],
            "application": {"id": world.BOT["id"], "flags": 0}, "relationships": [], "shard": [0, 1]})
        tell_presence(data.get("presence"))
        with world.lock:
            guild = world.guild()
        await connection.dispatch("GUILD_CREATE", guild)
    elif op == 3:
        tell_presence(data)
    elif op == 6:
        await resume(connection, data)


def tell_presence(data):
    for activity in (data or {}).get("activities", []):
        tell(happened="presence", type=activity["type"], text=activity["name"])


async def resume(connection, data):
    tell(happened="resume", sequence=data["seq"])
    session = sessions.get(data["session_id"])
    if session is None or data["seq"] > len(session["events"]):
        return await connection.send(9, False)
    connection.session = data["session_id"]
    for number in range(data["seq"], len(session["events"])):
        event, missed = session["events"][number]
        await connection.send(0, missed, event, number + 1)
    await connection.dispatch("RESUMED", {})
