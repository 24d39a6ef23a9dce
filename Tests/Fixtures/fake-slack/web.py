"""The Web API, files, and addresses for answers."""
import email.parser
import email.policy
import http.server
import json
import urllib.parse

import sockets
import world
from world import tell

world.private = {}
world.responses = {}
PARSED = ("blocks", "metadata", "view", "files", "attachments", "chunks")


class Refusal(Exception):
    def __init__(self, error, **more):
        self.answer = {"ok": False, "error": error, **more}


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def log_message(self, *arguments):
        pass

    def say(self, status, data, headers=()):
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/octet-stream" if isinstance(data, bytes) else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def arguments(self, raw):
        kind = self.headers.get("Content-Type") or ""
        if kind.startswith("application/json"):
            return json.loads(raw or b"{}")
        query = urllib.parse.urlparse(self.path).query
        form = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        form.update(urllib.parse.parse_qsl(raw.decode(), keep_blank_values=True))
        for name in PARSED:
            if name in form and form[name]:
                form[name] = json.loads(form[name])
        return form

    def answer(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urllib.parse.urlparse(self.path).path.strip("/").split("/")
        if parts[0] == "upload":
            return self.upload(parts[1], raw)
        if parts[0] == "files-pri":
            return self.file(parts[1])
        if parts[0] == "actions":
            return self.respond(parts[2], json.loads(raw))
        method = parts[-1]
        arguments = self.arguments(raw)
        failure = None
        with world.lock:
            if world.failures.get(method):
                failure = world.failures[method].pop(0)
        if isinstance(failure, dict) and "wait" in failure:
            tell(happened="429", method=method)
            return self.say(429, {"ok": False, "error": "ratelimited"}, [("Retry-After", str(failure["wait"]))])
        if isinstance(failure, int) and failure > 0:
            return self.say(failure, {"ok": False, "error": "as wished"})
        try:
            if isinstance(failure, str):
                raise Refusal(failure)
            if isinstance(failure, dict):
                raise Refusal(failure["error"], **{key: failure[key] for key in ("needed", "provided") if key in failure})
            with world.lock:
                result = {"ok": True, **self.perform(method, arguments)}
        except Refusal as refusal:
            result = refusal.answer
            tell(happened="refused", method=method, error=result["error"])
        if failure == 0:
            self.close_connection = True
            return
        scopes = ",".join(scope for scope in world.SCOPES if scope not in world.missing)
        self.say(200, result, [("X-OAuth-Scopes", scopes)])

    def perform(self, method, arguments):
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or arguments.get("token")
        if method == "apps.connections.open":
            if token != world.APP_TOKEN or not self.headers.get("Authorization"):
                raise Refusal("invalid_auth")
            ticket = world.new_id("t")
            sockets.tickets.add(ticket)
            return {"url": f"ws://127.0.0.1:{world.ports[0]}/link/?app_id={world.APP}&ticket={ticket}"}
        if token != world.BOT_TOKEN:
            raise Refusal("invalid_auth")
        if world.revoked:
            raise Refusal("token_revoked")
        needed = world.NEEDED.get(method)
        if needed in world.missing:
            raise Refusal("missing_scope", needed=needed, provided="none")
        function = METHODS.get(method)
        if not function:
            raise Refusal("unknown_method")
        return function(arguments)

    def upload(self, id, raw):
        content, kind = raw, self.headers.get("Content-Type") or ""
        if kind.startswith("multipart/"):
            form = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
                b"Content-Type: " + kind.encode() + b"\r\n\r\n" + raw)
            content = next(form.iter_parts()).get_payload(decode=True)
        upload = world.uploads[id]
        if len(content) != upload["length"]:
            return self.say(400, {"ok": False, "error": "length"})
        world.files[id] = world.file(id, upload["name"], content, "image/png" if upload["name"].endswith("png") else "text/plain")
        self.say(200, b"OK - %d" % len(content))

    def file(self, id):
        if self.headers.get("Authorization") != "Bearer " + world.BOT_TOKEN:
            # A page to log in at, with status 200.
            return self.say(200, b"<!DOCTYPE html><title>Sign in</title>")
        found = world.files.get(id)
        self.say(200, found["content"]) if found else self.say(404, b"")

    def respond(self, id, data):
        slot = world.responses.get(id)
        if not slot or slot["uses"] < 1:
            return self.say(404, {"ok": False, "error": "used_url"})
        slot["uses"] -= 1
        ts = world.new_ts()
        world.private[ts] = data
        tell(happened="shown", id=ts, channel=slot["channel"], thread=None, text=world.words(data.get("blocks")) or data.get("text", ""),
             private=True, user=slot["user"], buttons=world.buttons(data.get("blocks")), files=[], form="mrkdwn",
             replaces=bool(data.get("replace_original")), streaming=False, fallback=data.get("text", ""))
        self.say(200, b"ok")

    do_GET = do_POST = answer


def channel_of(arguments, name="channel"):
    channel = arguments.get(name) or ""
    if channel not in world.channels:
        raise Refusal("channel_not_found")
    if world.channels[channel].get("is_archived"):
        raise Refusal("is_archived")
    if world.channels[channel].get("is_member") is False:
        raise Refusal("not_in_channel")
    return channel


def check(arguments):
    blocks = arguments.get("blocks") or []
    text = arguments.get("text") or ""
    if not text and not blocks:
        raise Refusal("no_text")
    if len(text) > 40000 or sum(len(block["text"]) for block in blocks if block["type"] == "markdown") > 12000:
        raise Refusal("msg_too_long")
    if len(blocks) > 50 or any(block["type"] in world.refused_blocks for block in blocks):
        raise Refusal("invalid_blocks")
    for block in blocks:
        if block["type"] == "section" and not 0 < len(block["text"]["text"]) <= 3000:
            raise Refusal("invalid_blocks")
        if block["type"] == "actions":
            names = [element["action_id"] for element in block["elements"]]
            if len(set(names)) < len(names) or not 0 < len(names) <= 25:
                raise Refusal("invalid_blocks")
            for element in block["elements"]:
                if element["type"] == "button" and (len(element["text"]["text"]) > 75 or len(element["value"]) > 2000):
                    raise Refusal("invalid_blocks")
                if any(len(option["value"]) > 150 for option in element.get("options", [])):
                    raise Refusal("invalid_blocks")


def own(arguments, text, blocks=None):
    message = {"type": "message", "user": world.BOT_USER, "bot_id": world.BOT, "app_id": world.APP, "text": text,
               "ts": world.new_ts(), "team": world.TEAM}
    if arguments.get("thread_ts"):
        message["thread_ts"] = arguments["thread_ts"]
    if blocks:
        message["blocks"] = blocks
    if arguments.get("metadata"):
        message["metadata"] = arguments["metadata"]
    return message


def tell_all(channel, message):
    # The bot's own messages come as events, too.
    event = dict(message, channel=channel, channel_type=sockets.channel_type(channel), event_ts=message["ts"])
    world.asyncio_run(sockets.event(event))


def post(arguments):
    channel = channel_of(arguments)
    check(arguments)
    message = world.put(channel, own(arguments, arguments.get("text", ""), arguments.get("blocks")))
    world.show(channel, message)
    tell_all(channel, message)
    return {"channel": channel, "ts": message["ts"], "message": message}


def own_message(arguments):
    channel = channel_of(arguments)
    message = world.messages.get(channel, {}).get(arguments.get("ts"))
    if message is None:
        raise Refusal("message_not_found")
    if message["user"] != world.BOT_USER:
        raise Refusal("cant_update_message")
    return channel, message


def update(arguments):
    channel, message = own_message(arguments)
    if message["ts"] in world.streams:
        raise Refusal("streaming_state_conflict")
    check(arguments)
    if len(arguments.get("text") or "") > 4000:
        raise Refusal("msg_too_long")
    message["text"] = arguments.get("text", "")
    message["blocks"] = arguments.get("blocks") or []
    if "metadata" in arguments:
        message["metadata"] = arguments["metadata"]
    message["edited"] = {"user": world.BOT_USER, "ts": world.new_ts()}
    world.show(channel, message)
    return {"channel": channel, "ts": message["ts"], "text": message["text"]}


def delete(arguments):
    channel, message = own_message(arguments)
    del world.messages[channel][message["ts"]]
    tell(happened="removed", id=message["ts"])
    return {"channel": channel, "ts": message["ts"]}


def streamed(arguments):
    """Markdown comes as it is, or in chunks."""
    return (arguments.get("markdown_text") or "") + "".join(
        chunk["text"] for chunk in arguments.get("chunks") or [] if chunk["type"] == "markdown_text")


def start_stream(arguments):
    channel = channel_of(arguments)
    if not world.streaming:
        raise Refusal("channel_type_not_supported")
    if not arguments.get("thread_ts"):
        raise Refusal("invalid_thread_ts")
    if channel[0] != "D" and not (arguments.get("recipient_user_id") and arguments.get("recipient_team_id")):
        raise Refusal("missing_recipient_user_id")
    # No metadata can be given before the end.
    message = world.put(channel, own(dict(arguments, metadata=None), streamed(arguments)))
    world.streams.add(message["ts"])
    world.show(channel, message, "stream")
    return {"channel": channel, "ts": message["ts"]}


def append_stream(arguments):
    channel, message = own_message(arguments)
    if message["ts"] not in world.streams:
        raise Refusal("message_not_in_streaming_state")
    if not 0 < len(streamed(arguments)) <= 12000:
        raise Refusal("no_text")
    message["text"] += streamed(arguments)
    world.show(channel, message, "stream")
    return {"channel": channel, "ts": message["ts"]}


def stop_stream(arguments):
    channel, message = own_message(arguments)
    if message["ts"] not in world.streams:
        raise Refusal("message_not_in_streaming_state")
    world.streams.discard(message["ts"])
    message["text"] += streamed(arguments)
    if arguments.get("blocks"):
        message["blocks"] = arguments["blocks"]
    if arguments.get("metadata"):
        message["metadata"] = arguments["metadata"]
    world.show(channel, message, "stream")
    return {"channel": channel, "ts": message["ts"], "message": message}


def pages(found, arguments, is_newest_first):
    oldest, limit = arguments.get("oldest"), int(arguments.get("limit", 100))
    inclusive = arguments.get("inclusive") in ("true", "1", True)
    if oldest:
        found = [one for one in found if float(one["ts"]) > float(oldest) or inclusive and one["ts"] == oldest
                 or one.get("is_root")]
    found.sort(key=lambda one: float(one["ts"]), reverse=is_newest_first)
    start = int(arguments.get("cursor") or 0)
    page = found[start:start + limit]
    more = start + limit < len(found)
    wants = str(arguments.get("include_all_metadata", "")).lower() in ("true", "1")
    hidden = ("is_root",) if wants else ("is_root", "metadata")
    return {"messages": [{key: value for key, value in one.items() if key not in hidden} for one in page], "has_more": more,
            "response_metadata": {"next_cursor": str(start + limit) if more else ""}}


def history(arguments):
    channel = channel_of(arguments)
    tell(happened="asked for history", channel=channel)
    found = [one for one in world.messages.get(channel, {}).values() if one.get("thread_ts", one["ts"]) == one["ts"]]
    return pages(found, arguments, True)


def replies(arguments):
    channel, thread = channel_of(arguments), arguments.get("ts")
    if thread not in world.messages.get(channel, {}):
        raise Refusal("thread_not_found")
    tell(happened="asked for history", channel=channel, thread=thread)
    found = [dict(one, is_root=True) if one["ts"] == thread else one for one in world.messages[channel].values()
             if one.get("thread_ts", one["ts"]) == thread]
    return pages(found, arguments, False)


def user(arguments):
    found = world.users.get(arguments.get("user"))
    if not found:
        raise Refusal("user_not_found")
    return {"user": found}


def open_direct(arguments):
    who = arguments.get("users")
    for one in world.channels.values():
        if one.get("user") == who:
            return {"channel": {"id": one["id"]}}
    if who not in world.users:
        raise Refusal("user_not_found")
    id = "D" + who[1:]
    world.channels[id] = {"id": id, "user": who, "is_im": True}
    return {"channel": {"id": id}}


def react(arguments):
    tell(happened="reacted", id=arguments["timestamp"], reaction=arguments["name"])
    return {}


def set_status(arguments):
    tell(happened="status", text=arguments.get("status"), thread=arguments.get("thread_ts"))
    return {}


def open_view(arguments):
    view = dict(arguments["view"], id=world.new_id("V"))
    if len(view["title"]["text"]) > 24:
        raise Refusal("invalid_arguments")
    world.views["last"] = view
    element = view["blocks"][-1]["element"]
    tell(happened="form", title=view["title"]["text"], prefill=element.get("initial_value"))
    return {"view": view}


def upload_url(arguments):
    id = world.new_id("F")
    world.uploads[id] = {"name": arguments["filename"], "length": int(arguments["length"])}
    return {"file_id": id, "upload_url": f"{world.base()}/upload/{id}"}


def complete(arguments):
    channel = channel_of(arguments, "channel_id")
    shared = []
    for entry in arguments["files"]:
        one = world.files.get(entry["id"])
        if not one:
            raise Refusal("file_not_found")
        one["title"] = entry.get("title", one["name"])
        world.share(one, channel)
        shared.append(world.public(one))
    message = own(arguments, arguments.get("initial_comment", ""))
    message.update(subtype="file_share", files=shared)
    world.put(channel, message)
    world.show(channel, message)
    return {"files": shared}


def file_info(arguments):
    found = world.files.get(arguments.get("file"))
    if not found:
        raise Refusal("file_not_found")
    return {"file": world.public(found)}


METHODS = {
    "auth.test": lambda arguments: {"url": world.base() + "/", "team": "Workshop", "team_id": world.TEAM, "user": "pi",
                                    "user_id": world.BOT_USER, "bot_id": world.BOT},
    "api.test": lambda arguments: {}, "chat.postMessage": post, "chat.update": update, "chat.delete": delete,
    "chat.startStream": start_stream, "chat.appendStream": append_stream, "chat.stopStream": stop_stream,
    "conversations.history": history, "conversations.replies": replies, "conversations.open": open_direct,
    "conversations.info": lambda arguments: {"channel": world.channels[channel_of(arguments)]}, "users.info": user,
    "reactions.add": react, "views.open": open_view, "files.getUploadURLExternal": upload_url,
    "files.completeUploadExternal": complete, "files.info": file_info, "assistant.threads.setStatus": set_status,
    "files.delete": lambda arguments: tell(happened="removed", id=arguments["file"]) or {},
    "bots.info": lambda arguments: {"bot": {"id": world.BOT, "name": "pi", "app_id": world.APP, "user_id": world.BOT_USER}},
}
