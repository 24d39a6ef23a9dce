"""A Bot API server of the tests' own on loopback. Commands come as lines of JSON on standard input; what happens is told as lines of
JSON on standard output.

    {"do": "say", "message": {...}}     somebody writes: "chat" and "from" are ids; the rest is the message's
    {"do": "edit", "id": ..., "message": {...}}  somebody changes a message
    {"do": "press", "id": ..., "data": ..., "chat": ..., "from": ...}  somebody presses a button of a message
    {"do": "stop", "chat": ..., "draft": ...}  somebody presses the button that stops a draft
    {"do": "update", "update": {...}}   any other update
    {"do": "file", "id": ..., "text": ... | "base64": ... | "size": ...}  a file that messages can name
    {"do": "block", "chat": ..., "on": true}  a person blocks the bot, or a group removes it; or no longer
    {"do": "migrate", "chat": ..., "to": ...}  a group becomes a supergroup
    {"do": "topic", "chat": ..., "name": ...}  somebody makes a topic
    {"do": "fail", "statuses": [503]}   answer the next requests that send or change with these, or with [status, description]; 0
                                        does what is asked and hangs up
    {"do": "refuse", "form": "rich", "count": 1}  refuse the next messages of a form; -1: all
    {"do": "limit", "count": 5, "seconds": 5}  requests that one chat takes in that time; with "group" in a minute of a group
    {"do": "server", "rich": false, ...}  what the server and the bot are like: "rich", "drafts", "webhook", "privacy", "token",
                                        "folder" (files are given as paths in it), "poller" (another program polls)
    {"do": "drop"}                      break every connection off
    {"do": "away", "on": true}          the same, and answer nothing until it is off again
"""
import base64
import email.parser
import email.policy
import http.server
import json
import socket
import sys
import threading
import time
import urllib.parse

import methods
import world
from methods import Refusal
from world import tell

SENDING = ("sendMessage", "sendRichMessage", "editMessageText", "sendPhoto", "sendDocument", "deleteMessage")
connections = set()


class API(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise the second write of an answer waits for the first to be acknowledged.
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self):
        super().setup()
        connections.add(self.connection)

    def finish(self):
        connections.discard(self.connection)
        super().finish()

    def log_message(self, *arguments):
        pass

    def say(self, status, body, kind="application/json"):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, refusal):
        answer = {"ok": False, "error_code": refusal.status, "description": refusal.description}
        if refusal.parameters:
            answer["parameters"] = refusal.parameters
        self.say(refusal.status, answer)

    def parameters(self):
        """The parameters, and the files that came with them."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.headers.get("Content-Type") or ""
        data = dict(urllib.parse.parse_qsl(urllib.parse.urlparse(self.path).query))
        uploads = []
        if kind.startswith("application/json"):
            data.update(json.loads(raw or b"{}"))
        elif kind.startswith("application/x-www-form-urlencoded"):
            data.update(urllib.parse.parse_qsl(raw.decode()))
        elif kind.startswith("multipart/"):
            form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
                b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw)
            for part in form.iter_parts():
                name, content = part.get_param("name", header="content-disposition"), part.get_payload(decode=True)
                if part.get_filename() is None:
                    data[name] = content.decode()
                else:
                    uploads.append((name, part.get_filename(), part.get_content_type(), content))
        for name, value in data.items():
            # Objects, numbers and flags of a form are texts of JSON; names of files in it are attached.
            if isinstance(value, str) and name not in ("text", "caption", "callback_query_id", "name", "file_id", "parse_mode"):
                try:
                    data[name] = json.loads(value)
                except ValueError:
                    pass
            if isinstance(value, str) and value.startswith("attach://"):
                uploads = [(name, *rest) if key == value[9:] else (key, *rest) for key, *rest in uploads]
        return data, uploads

    def answer(self):
        data, uploads = self.parameters()
        if world.server["away"]:
            tell(happened="turned away")
            self.close_connection = True
            return
        parts = [urllib.parse.unquote(part) for part in urllib.parse.urlparse(self.path).path.strip("/").split("/")]
        isFile = parts[0] == "file"
        if isFile:
            parts = parts[1:]
        if parts[0] != "bot" + world.server["token"]:
            return self.refuse(Refusal(401, "Unauthorized") if ":" in parts[0] else Refusal(404, "Not Found"))
        if isFile:
            found = world.files.get(parts[-1])
            return self.say(200, found[0], "application/octet-stream") if found else self.refuse(Refusal(404, "Not Found"))
        method = parts[1] if len(parts) > 1 else ""
        try:
            if method == "getUpdates":
                return self.say(200, {"ok": True, "result": self.poll(data)})
            with world.lock:
                found = methods.find(method)
                if found is None:
                    tell(happened="unknown method", method=method)
                    raise Refusal(404, "Not Found: method not found")
                failure = world.failures.pop(0) if world.failures and method in SENDING else None
                if failure:
                    status, words = failure if isinstance(failure, list) else (failure, "as wished")
                    tell(happened="failed", method=method, status=status)
                    more = {"retry_after": int(words)} if status == 429 else {}
                    raise Refusal(status, str(words), **more)
                result = found(data, uploads)
            if failure == 0:
                self.close_connection = True
                return
            self.say(200, {"ok": True, "result": result})
        except Refusal as refusal:
            self.refuse(refusal)
        except KeyError as missing:
            self.refuse(Refusal(400, f"Bad Request: {missing} is missing"))

    def poll(self, data):
        """The updates that are not confirmed. One poll at a time: a second ends the first."""
        offset, limit, seconds = int(data.get("offset") or 0), int(data.get("limit") or 100), float(data.get("timeout") or 0)
        kinds = data.get("allowed_updates")
        with world.changed:
            if world.server["webhook"]:
                raise Refusal(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete "
                              "the webhook first")
            if world.server["poller"]:
                tell(happened="409")
                raise Refusal(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is "
                              "running")
            world.poll["number"] += 1
            own = world.poll["number"]
            world.changed.notify_all()
            if offset < 0:
                world.updates[:] = world.updates[offset:]
            confirmed = [one["update_id"] for one in world.updates if 0 < one["update_id"] < offset]
            if confirmed:
                tell(happened="confirmed", updates=confirmed)
                world.updates[:] = [one for one in world.updates if one["update_id"] >= offset]
            tell(happened="poll", offset=offset, timeout=seconds, kinds=kinds)
            deadline = time.monotonic() + seconds
            while True:
                waiting = [one for one in world.updates if kinds is None or any(kind in one for kind in kinds)]
                if waiting or time.monotonic() >= deadline:
                    return waiting[:min(limit, 100)]
                world.changed.wait(min(1, deadline - time.monotonic()))
                if own != world.poll["number"] or world.server["poller"]:
                    tell(happened="409")
                    raise Refusal(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance "
                                  "is running")

    do_GET = do_POST = answer


def say(command):
    data = dict(command["message"])
    chat, author = data.pop("chat", world.ANN["id"]), data.pop("from", world.ANN["id"])
    if chat > 0:
        world.chat(chat)
    kind = command.get("as", "message")
    if "id" in command:
        one = world.messages[chat, command["id"]]
        one.update(data)
    else:
        one = world.message(chat, world.user(author) if author else None, **data)
    tell(happened="said", id=one["message_id"], chat=chat)
    world.update(**{kind: world.public(one)})


def press(command):
    chat, id = command.get("chat", world.ANN["id"]), str(world.new("query"))
    one = world.messages[chat, command["id"]]
    world.queries[id] = one
    world.update(callback_query={
        "id": id, "from": world.user(command.get("from", world.ANN["id"])), "message": world.public(one),
        "chat_instance": "1", "data": command["data"]})


def migrate(command):
    old, new = command["chat"], command["to"]
    world.chats[new] = {"id": new, "type": "supergroup", "title": world.chats[old]["title"]}
    world.chats[old]["_moved"] = new
    if not command.get("silent"):
        world.update(message=world.public(world.message(old, world.ANN, migrate_to_chat_id=new)))
        world.update(message=world.public(world.message(new, world.ANN, migrate_from_chat_id=old)))


def obey(command):
    what = command.pop("do")
    with world.lock:
        if what == "say":
            say(command)
        elif what == "edit":
            say(dict(command, **{"as": "edited_message"}))
        elif what == "press":
            press(command)
        elif what == "stop":
            world.update(stopped_message_generation={"chat": world.chat(command["chat"]), "draft_id": command["draft"]})
        elif what == "update":
            world.update(**command["update"])
        elif what == "file":
            content = b"x" * command["size"] if "size" in command else (
                base64.b64decode(command["base64"]) if "base64" in command else command["text"].encode())
            world.files[command["id"]] = (content, command.get("name", "file"))
        elif what == "block":
            chat = command["chat"]
            (world.blocked.add if command["on"] else world.blocked.discard)(chat)
            before, after = ("member", "kicked") if command["on"] else ("kicked", "member")
            world.update(my_chat_member={
                "chat": world.chat(chat), "from": world.ANN, "date": int(time.time()),
                "old_chat_member": {"status": before, "user": world.BOT, **({"until_date": 0} if before == "kicked" else {})},
                "new_chat_member": {"status": after, "user": world.BOT, **({"until_date": 0} if after == "kicked" else {})}})
        elif what == "migrate":
            migrate(command)
        elif what == "topic":
            id = world.new("topic")
            world.chats[command["chat"]].setdefault("_topics", {})[id] = command["name"]
            tell(happened="topic", id=id, chat=command["chat"], name=command["name"])
        elif what == "fail":
            world.failures.extend(command["statuses"])
            # A client that asks at once must not come before.
            tell(happened="will fail")
        elif what == "refuse":
            world.refusals[command["form"]] = command["count"]
        elif what == "limit":
            world.limit.update(command)
        elif what == "server":
            world.server.update(command)
            world.changed.notify_all()
        elif what in ("drop", "away"):
            world.server["away"] = command.get("on", False)
            tell(happened="set", what=what)
            for connection in list(connections):
                connection.shutdown(socket.SHUT_RDWR)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        """Clients that are killed are what this is for."""


world.start()
server = Server(("127.0.0.1", 0), API)
world.port = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ports", world.port, flush=True)
for line in sys.stdin:
    obey(json.loads(line))
