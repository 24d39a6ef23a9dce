"""A Slack of the tests' own on loopback: the Web API, Socket Mode, uploads and response addresses. Commands come as lines of JSON
on standard input; what happens is told as lines of JSON on standard output.

    {"do": "say", "channel": "D1", "text": ..., ["user", "ts", "thread_ts", "files", "mention", "team", "silent"]}
                                         somebody writes: events, and part of the history ("silent": no event is sent)
    {"do": "edit", "channel": ..., "ts": ..., "text": ...}   somebody changes it; with the same text a link was unfurled
    {"do": "remove", "channel": ..., "ts": ...}              somebody deletes it
    {"do": "event", "event": {...}}      any other event
    {"do": "command", "text": ..., ["channel", "user"]}      somebody uses /pi
    {"do": "press", "channel": ..., "ts": ..., "value": ..., ["user"]}   somebody presses a button, or chooses from a menu
    {"do": "submit", "text": ..., ["user"]}   somebody sends the form that was opened last
    {"do": "shortcut", "callback_id": ..., ["ts", "channel"]}  somebody uses a shortcut
    {"do": "file", "id": ..., "text": ...}    a file, to be had with the bot's token
    {"do": "warn", "reason": "refresh_requested"}   tell every connection to make place
    {"do": "drop"}                       break every connection off
    {"do": "silence", "on": true}        no pings any more
    {"do": "ignore", "count": 1}         take so many acknowledgements for lost
    {"do": "fail", "method": "chat.postMessage", "answers": [...]}   the next answers of a method: an error's code, a status,
                                         {"error": ..., "needed": ...}, {"wait": 2} for 429, or 0: do it and hang up
    {"do": "scopes", "without": [...]}   scopes that the token lacks
    {"do": "streaming", "on": false}     no native streaming
    {"do": "refuse", "blocks": ["markdown"]}   blocks of these types are invalid
    {"do": "revoke", "on": true}         the bot's token counts for nothing
    {"do": "retry", "seconds": 0.2}      the time between the repeats of what is not acknowledged
"""
import asyncio
import http.server
import json
import sys
import threading

from websockets.asyncio.server import serve

import sockets
import web
import world


async def obey(command):
    what = command.pop("do")
    if what == "say":
        await sockets.say(command)
    elif what in ("edit", "remove"):
        await sockets.change(command, what == "remove")
    elif what == "event":
        await sockets.event(command["event"])
    elif what in ("command", "press", "submit", "shortcut"):
        await sockets.interact(what, command)
    elif what == "file":
        with world.lock:
            world.files[command["id"]] = world.file(command["id"], "notes.txt", command["text"].encode())
    elif what == "warn":
        await sockets.warn(command["reason"])
    elif what == "drop":
        for connection in list(sockets.connections):
            connection.socket.transport.abort()
    elif what == "silence":
        sockets.state["silent"] = command["on"]
    elif what == "ignore":
        sockets.state["ignored"] = command["count"]
    elif what == "fail":
        world.failures.setdefault(command["method"], []).extend(command["answers"])
        # A client that asks at once must not come before.
        world.tell(happened="will fail", method=command["method"])
    elif what == "scopes":
        world.missing = set(command["without"])
    elif what == "streaming":
        world.streaming = command["on"]
    elif what == "refuse":
        world.refused_blocks = set(command["blocks"])
    elif what == "revoke":
        world.revoked = command["on"]
    elif what == "retry":
        sockets.state["retry"] = command["seconds"]


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
    interface = HTTPServer(("127.0.0.1", 0), web.Web)
    threading.Thread(target=interface.serve_forever, daemon=True).start()
    # Pings are sent by `sockets`, which can leave them out.
    server = await serve(sockets.serve, "127.0.0.1", 0, max_size=None, ping_interval=None)
    world.ports[:] = [server.sockets[0].getsockname()[1], interface.server_address[1]]
    print("ports", *world.ports, flush=True)
    threading.Thread(target=listen, daemon=True).start()
    await asyncio.Future()


try:
    asyncio.run(main())
except RuntimeError:
    pass  # The loop was stopped: standard input has ended.
