"""A Discord of the tests' own on loopback. Commands come as lines of JSON on standard input; what happens is told as lines of
JSON on standard output.

    {"do": "say", "message": {...}}     somebody writes: MESSAGE_CREATE, and it is part of the channel's history
                                        (MESSAGE_UPDATE, MESSAGE_DELETE and others with "event")
    {"do": "interact", "interaction": {...}}  somebody uses a command, a button ("message_id" names its message), a form
                                        ("taken": another bot of the same token has answered it)
    {"do": "begin", "parent": ..., "name": ...}  somebody opens a thread
    {"do": "history", "seconds": 1, "failures": [502]}  how slowly, and with which failures first, old messages are told
    {"do": "await", "token": ...}       an interaction of that token has been acknowledged in the general channel
    {"do": "expire"}                    tokens of interactions count for nothing any more
    {"do": "thread", "id": ..., "archived": true}  somebody puts a thread away; with "deleted" deletes it
    {"do": "drop"}                      break every gateway connection off
    {"do": "refuse", "on": true}        take no gateway connections for a while
    {"do": "silence", "on": true}       take gateway connections and say nothing for a while
    {"do": "close", "code": 4014}       close them with a code
    {"do": "zombie"}                    acknowledge no heartbeat any more, until the next connection
    {"do": "invalidate"}                forget all sessions
    {"do": "fail", "statuses": [503]}   answer the next requests for messages with these, or with [status, code]; 0 does what is asked and hangs up
    {"do": "limit", "count": 5, "seconds": 5}  requests that one channel's bucket takes in that time
    {"do": "times"}                     tell when each event was written to the gateway's socket
    {"do": "portal", "flags": 0, "invited": false}  what the developer portal and the invitation have done
    {"do": "deny", "channel": ..., "bits": "34359738368"}  a channel denies everyone permissions
    {"do": "file", "id": ..., "text": ...}     a file, to be had at /files/ID/NAME
"""
import asyncio
import http.server
import json
import ssl
import sys
import threading

from websockets.asyncio.server import serve

import gateway
import interactions
import world
from rest import REST


async def say(command):
    event = command.get("event", "MESSAGE_CREATE")
    data = command["message"]
    with world.lock:
        if event == "MESSAGE_CREATE":
            author = dict(world.ANN, **data.pop("author"))
            if data["channel_id"] not in world.channels:
                world.channels[data["channel_id"]] = {
                    "id": data["channel_id"], "type": 0 if "guild_id" in data else 1, "name": "elsewhere",
                    "recipients": [author]}
            data.setdefault("id", world.new_id())
            data = world.message(data.pop("channel_id"), author, data.pop("content"), **data)
            if data.get("guild_id"):
                data["member"] = {key: value for key, value in world.member(author).items() if key != "user"}
    world.tell(happened="said", text=data.get("content"))
    await gateway.broadcast(event, data)


async def put_away(command):
    with world.lock:
        thread = world.channels[command["id"]]
        if command.get("deleted"):
            del world.channels[command["id"]]
        else:
            thread["thread_metadata"]["archived"] = command["archived"]
    await gateway.broadcast("THREAD_DELETE" if command.get("deleted") else "THREAD_UPDATE", thread)


async def obey(command):
    what = command["do"]
    if what == "say":
        await say(command)
    elif what == "interact":
        with world.lock:
            data = interactions.begin(command["interaction"], command.get("taken", False))
        await gateway.broadcast("INTERACTION_CREATE", data)
    elif what == "thread":
        await put_away(command)
    elif what == "begin":
        with world.lock:
            thread = world.channel(world.new_id(), command["name"], 11, command["parent"])
        world.tell(happened="thread", id=thread["id"], parent=command["parent"], name=command["name"])
        await gateway.broadcast("THREAD_CREATE", thread)
    elif what == "history":
        world.history.update(seconds=command.get("seconds", 0), failures=command.get("failures", []))
    elif what == "await":
        with world.lock:
            world.interactions[command["token"]] = {
                "id": "1", "type": 2, "began": 0, "answer": 5, "channel": "700000000000000001", "user": world.ANN["id"],
                "original": None, "private": True}
        world.tell(happened="awaited")
    elif what == "expire":
        world.expired["webhooks"] = True
    elif what == "drop":
        for connection in list(gateway.connections):
            connection.socket.transport.abort()
    elif what == "close":
        for connection in list(gateway.connections):
            await connection.socket.close(command["code"])
    elif what == "zombie":
        gateway.state["zombie"] = True
    elif what == "refuse":
        gateway.state["refuses"] = command["on"]
    elif what == "silence":
        gateway.state["silent"] = command["on"]
    elif what == "times":
        gateway.state["times"] = True
    elif what == "invalidate":
        gateway.sessions.clear()
    elif what == "fail":
        world.failures.extend(command["statuses"])
    elif what == "limit":
        world.limit.update(count=command["count"], seconds=command["seconds"])
    elif what == "portal":
        world.application.update({key: command[key] for key in ("flags", "invited") if key in command})
    elif what == "deny":
        world.channels[command["channel"]]["permission_overwrites"] = [
            {"id": world.GUILD, "type": 0, "allow": "0", "deny": command["bits"]}]
    elif what == "file":
        world.files[command["id"]] = command["text"].encode()


def listen():
    for line in sys.stdin:
        asyncio.run_coroutine_threadsafe(obey(json.loads(line)), world.loop).result()
    world.loop.call_soon_threadsafe(world.loop.stop)


class HTTPServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """Clients that are killed are what this is for."""


async def main():
    world.loop = asyncio.get_running_loop()
    world.broadcast = gateway.broadcast
    world.start()
    if "--whole" not in sys.argv:
        gateway.state["split"] = True
    tls = None
    if "--tls" in sys.argv:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        folder = sys.argv[sys.argv.index("--tls") + 1]
        tls.load_cert_chain(folder + "/server.pem", folder + "/server.key")
        world.scheme["secure"] = "s"
    rest = HTTPServer(("127.0.0.1", 0), REST)
    if tls:
        rest.socket = tls.wrap_socket(rest.socket, server_side=True)
    threading.Thread(target=rest.serve_forever, daemon=True).start()
    server = await serve(gateway.serve, "127.0.0.1", 0, max_size=None, compression=None, ssl=tls,
                         process_request=gateway.refuse)
    world.ports[:] = [server.sockets[0].getsockname()[1], rest.server_address[1]]
    print("ports", *world.ports, flush=True)
    threading.Thread(target=listen, daemon=True).start()
    await asyncio.Future()


try:
    asyncio.run(main())
except RuntimeError:
    pass  # The loop was stopped: standard input has ended.
