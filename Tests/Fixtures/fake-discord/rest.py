"""The HTTP interface, with one bucket for each channel, and the files."""
import email.parser
import email.policy
import http.server
import json
import time
import urllib.parse

import interactions
import world
from world import tell

UNKNOWN_MESSAGE = (404, {"message": "Unknown Message", "code": 10008})
UNKNOWN_CHANNEL = (404, {"message": "Unknown Channel", "code": 10003})
INVALID = (400, {"message": "Invalid Form Body", "code": 50035})
NOT_FOUND = (404, {"message": "404: Not Found", "code": 0})


class REST(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise the second write of an answer waits for the first to be acknowledged.
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *arguments):
        pass

    def say(self, status, data, headers=()):
        body = b"" if data is None else data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if isinstance(data, (dict, list)):
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    def body(self):
        """The JSON, and the files that came with it."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        kind = self.headers.get("Content-Type") or ""
        if not kind.startswith("multipart/"):
            return (json.loads(raw) if raw else {}), []
        form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
            b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw)
        data, uploads = {}, []
        for part in form.iter_parts():
            name = part.get_param("name", header="content-disposition")
            if name == "payload_json":
                data = json.loads(part.get_payload(decode=True))
            else:
                uploads.append((part.get_filename(), part.get_content_type(), part.get_payload(decode=True)))
        return data, uploads

    def answer(self):
        data, uploads = self.body()
        path = urllib.parse.urlparse(self.path)
        query = dict(urllib.parse.parse_qsl(path.query))
        parts = [urllib.parse.unquote(part) for part in path.path.strip("/").split("/")]
        if parts[:2] == ["api", "v10"]:
            parts = parts[2:]
        if parts[0] == "files":
            found = world.files.get(parts[1])
            return self.say(200, found) if found is not None else self.say(*NOT_FOUND)
        if parts[0] == "interactions":
            time.sleep(0.05)  # As far away as Discord is.
        if parts[2:] == ["messages"] and self.command == "GET":
            time.sleep(world.history["seconds"])
            tell(happened="asked for history", channel=parts[1])
            if world.history["failures"]:
                return self.say(world.history["failures"].pop(0), {"message": "as wished", "code": 0})
        isOpen = parts[0] in ("interactions", "webhooks")
        if not isOpen and self.headers.get("Authorization") != "Bot " + world.TOKEN:
            return self.say(401, {"message": "401: Unauthorized", "code": 0})
        if not isOpen and self.hurries():
            return self.say(429, {"message": "You are being rate limited.", "retry_after": 1.0, "global": True},
                            [("X-RateLimit-Global", "true"), ("Via", "1.1 google")])
        if parts[0] == "channels" and parts[2:3] == ["messages"] and len(parts) < 5 and self.command != "GET":
            return self.limited(parts, data, uploads)
        with world.lock:
            status, result = self.perform(parts, query, data, uploads)
        self.say(status, result)

    def hurries(self):
        """Fifty requests a second, over everything; a few more, since what is on its way arrives in bursts."""
        with world.lock:
            now = time.monotonic()
            world.recent.append(now)
            while world.recent[0] < now - 1:
                world.recent.popleft()
            if len(world.recent) <= 55:
                return False
            world.recent.pop()
            tell(happened="429")
            return True

    def limited(self, parts, data, uploads):
        with world.lock:
            headers, refusal = self.bucket(parts[1])
            if refusal is not None:
                return self.say(429, {"message": "You are being rate limited.", "retry_after": refusal, "global": False},
                                headers)
            failure = world.failures.pop(0) if world.failures else None
            if failure:
                status, code = failure if isinstance(failure, list) else (failure, 0)
                return self.say(status, {"message": "as wished", "code": code}, headers)
            status, result = self.message(parts, data, uploads)
        if failure == 0:
            self.close_connection = True
            return
        self.say(status, result, headers)

    def bucket(self, channel):
        now = time.monotonic()
        # A window is full of room again as a whole.
        window = world.sent.setdefault(channel, {"ends": 0, "count": 0})
        if now >= window["ends"]:
            window.update(ends=now + world.limit["seconds"], count=0)
        count = world.limit["count"]
        refused = window["count"] >= count
        if not refused:
            window["count"] += 1
        reset = window["ends"] - now
        headers = [("X-RateLimit-Bucket", "messages"), ("X-RateLimit-Limit", str(count)),
                   ("X-RateLimit-Remaining", str(count - window["count"])), ("X-RateLimit-Reset-After", f"{reset + 0.001:.3f}"),
                   ("X-RateLimit-Reset", f"{time.time() + reset:.3f}")]
        if refused:
            # What Discord itself refuses has come through its proxy; what that refuses by itself has no such line.
            headers.append(("Via", "1.1 google"))
            tell(happened="429")
        return headers, reset + 0.001 if refused else None

    def perform(self, parts, query, data, uploads):
        match [self.command, *parts]:
            case ["GET", "gateway"] | ["GET", "gateway", "bot"]:
                return 200, {"url": world.gateway(), "shards": 1, "session_start_limit": {
                    "total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}}
            case ["GET", "users", "@me"]:
                return 200, world.BOT
            case ["GET", "users", "@me", "guilds"]:
                isIn = world.application["invited"] and int(query.get("after", 0)) < int(world.GUILD)
                return 200, [] if not isIn else [
                    {"id": world.GUILD, "name": "Workshop", "icon": None, "owner": False, "permissions": "0"}]
            case ["POST", "users", "@me", "channels"]:
                return 200, world.direct_channel(data["recipient_id"])
            case ["GET", "applications", "@me"] | ["GET", "oauth2", "applications", "@me"]:
                return 200, {"id": world.BOT["id"], "name": "relay", "flags": world.application["flags"], "bot_public": False, "description": "",
                             "icon": None, "bot_require_code_grant": False, "verify_key": "", "owner": world.ANN,
                             "team": None, "summary": "", "redirect_uris": [], "interactions_endpoint_url": None,
                             "role_connections_verification_url": None}
            case [("GET" | "PUT"), "applications", _, "commands"] | [("GET" | "PUT"), "applications", _, "guilds", _, "commands"]:
                return self.commands(parts, data)
            case ["GET", "guilds", world.GUILD]:
                return 200, world.guild()
            case ["GET", "guilds", _, "members", user]:
                known = {"user": world.BOT} if user == world.BOT["id"] else world.members.get(user)
                return (200, world.member(known["user"])) if known else (404, {"message": "Unknown Member", "code": 10007})
            case ["GET", "channels", channel]:
                found = world.channels.get(channel)
                return (200, found) if found else UNKNOWN_CHANNEL
            case ["GET", "channels", channel, "messages"]:
                return self.history(channel, query)
            case ["POST", "channels", channel, "threads"]:
                return self.thread(channel, data)
            case ["POST", "channels", _, "typing"]:
                return 204, None
            case ["PUT", "channels", _, "messages", message, "reactions", reaction, "@me"]:
                tell(happened="reacted", id=message, reaction=reaction)
                return 204, None
            case ["POST", "interactions", id, token, "callback"]:
                return interactions.callback(id, token, data, query)
            case ["POST", "webhooks", _, token]:
                return interactions.follow_up(token, data)
            case [("GET" | "PATCH" | "DELETE") as method, "webhooks", _, token, "messages", message]:
                return interactions.reply(method, token, message, data)
        tell(happened="unknown", method=self.command, path=self.path)
        return NOT_FOUND

    def commands(self, parts, data):
        place = parts[3] if parts[2] == "guilds" else None
        if self.command == "PUT":
            world.commands[place] = [
                dict(command, id=world.new_id(), application_id=parts[1], guild_id=place, version="1", nsfw=False,
                     default_member_permissions=None) for command in data]
            tell(happened="registered", guild=place, names=[command["name"] for command in data])
        return 200, world.commands.get(place, [])

    def history(self, channel, query):
        if channel not in world.channels:
            return UNKNOWN_CHANNEL
        found = sorted((one for one in world.messages.values() if one["channel_id"] == channel
                        and not one["flags"] & world.EPHEMERAL and int(one["id"]) > int(query.get("after", 0))),
                       key=lambda one: int(one["id"]))[:int(query.get("limit", 50))]
        return 200, [world.public(one) for one in reversed(found)]

    def thread(self, parent, data):
        if parent not in world.channels:
            return UNKNOWN_CHANNEL
        thread = world.channel(world.new_id(), data["name"], 11, parent)
        tell(happened="thread", id=thread["id"], parent=parent, name=data["name"])
        world.dispatch("THREAD_CREATE", dict(thread, newly_created=True))
        return 201, thread

    def message(self, parts, data, uploads):
        channel = parts[1]
        if channel not in world.channels:
            return UNKNOWN_CHANNEL
        pings = data.get("allowed_mentions") != {"parse": []}
        if self.command == "POST":
            content = data.get("content") or ""
            if (not content and not uploads) or len(content) > 2000:
                return INVALID
            nonce = data.get("nonce")
            if nonce and data.get("enforce_nonce") and nonce in world.nonces:
                return 200, world.public(world.nonces[nonce])
            one = world.message(channel, world.BOT, content, components=data.get("components") or [],
                                attachments=[attachment(*upload) for upload in uploads])
            if nonce:
                world.nonces[nonce] = one
                one["nonce"] = nonce
            world.show(one, pings)
            world.dispatch("MESSAGE_CREATE", one)
            return 200, world.public(one)
        one = world.messages.get(parts[3])
        # What only one person sees is no message of the channel.
        if one is None or one["channel_id"] != channel or one["flags"] & world.EPHEMERAL:
            return UNKNOWN_MESSAGE
        if self.command == "PATCH":
            if len(data.get("content") or "") > 2000:
                return INVALID
            one.update({key: data[key] for key in ("content", "components") if key in data})
            one["edited_timestamp"] = world.now()
            world.show(one, pings)
            world.dispatch("MESSAGE_UPDATE", one)
            return 200, world.public(one)
        del world.messages[parts[3]]
        tell(happened="removed", id=parts[3])
        return 204, None

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer


def attachment(name, kind, content):
    id = world.new_id()
    world.files[id] = content
    url = f"{world.base()}/files/{id}/{urllib.parse.quote(name)}"
    return {"id": id, "filename": name, "size": len(content), "content_type": kind, "url": url, "proxy_url": url}
