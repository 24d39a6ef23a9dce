"""What there is at this Slack, and the ledger of what people see: one line of JSON on standard output for each thing that
happens."""
import asyncio
import json
import threading
import time

BOT_TOKEN = "xoxb-the-token"
APP_TOKEN = "xapp-the-token"
TEAM, APP, BOT_USER, BOT = "T0001", "A0001", "U0BOT", "B0BOT"
SCOPES = ["app_mentions:read", "assistant:write", "channels:history", "channels:read", "chat:write", "commands",
          "files:read", "files:write", "groups:history", "groups:read", "im:history", "im:read", "im:write",
          "mpim:history", "reactions:write", "users:read"]
# The scope that a method wants.
NEEDED = {"users.info": "users:read", "reactions.add": "reactions:write", "chat.postMessage": "chat:write",
          "chat.update": "chat:write", "chat.startStream": "chat:write", "files.getUploadURLExternal": "files:write",
          "conversations.history": "channels:history", "conversations.open": "im:write",
          "assistant.threads.setStatus": "assistant:write"}

lock = threading.RLock()
ports = []
loop = None
users = {
    "U0ANN": {"id": "U0ANN", "name": "ann", "team_id": TEAM, "profile": {"display_name": "Ann", "real_name": "Ann Onym"}},
    "U0BOB": {"id": "U0BOB", "name": "bob", "team_id": TEAM, "profile": {"display_name": "", "real_name": "Bob"}},
    "U0OUT": {"id": "U0OUT", "name": "out", "team_id": "T0002", "is_stranger": True, "profile": {"display_name": "Out"}},
    BOT_USER: {"id": BOT_USER, "name": "pi", "team_id": TEAM, "is_bot": True, "profile": {"display_name": "pi"}},
}
channels = {"C0GEN": {"id": "C0GEN", "name": "general", "is_member": True, "is_channel": True},
            "C0OTHER": {"id": "C0OTHER", "name": "other", "is_member": True, "is_channel": True},
            "G0PRIV": {"id": "G0PRIV", "name": "secret", "is_member": True, "is_group": True},
            "D0ANN": {"id": "D0ANN", "user": "U0ANN", "is_im": True}}
messages = {}  # by channel, then by ts
files = {}
uploads = {}
views = {}
streams = set()
failures = {}
missing = set()
refused_blocks = set()
streaming = True
revoked = False
_last = 0.0
_number = 0


def new_ts():
    """Each is later than the one before."""
    global _last
    with lock:
        _last = max(_last + 0.000001, time.time())
        return f"{_last:.6f}"


def new_id(prefix):
    global _number
    with lock:
        _number += 1
        return f"{prefix}{int(time.time() * 1000):X}{_number}"


def tell(**what):
    what.setdefault("at", time.monotonic_ns())
    with lock:
        print(json.dumps(what), flush=True)


def base():
    return f"http://127.0.0.1:{ports[1]}"


def file(id, name, content, mime="text/plain"):
    return {"id": id, "name": name, "title": name, "mimetype": mime, "size": len(content), "content": content,
            "channels": [], "groups": [], "ims": [], "url_private": f"{base()}/files-pri/{id}/{name}",
            "url_private_download": f"{base()}/files-pri/{id}/download/{name}"}


def public(one):
    return {key: value for key, value in one.items() if key != "content"}


def share(one, channel):
    one["ims" if channel[0] == "D" else "groups" if channel[0] == "G" else "channels"].append(channel)


def put(channel, message):
    messages.setdefault(channel, {})[message["ts"]] = message
    return message


def words(blocks):
    """What people read in blocks."""
    found = []
    for block in blocks or []:
        text = block.get("text")
        if block["type"] == "markdown":
            found.append(text)
        elif block["type"] == "section":
            found.append(text["text"])
    return "\n".join(found)


def buttons(blocks):
    """[[label, value, style], …] of all buttons; of a menu its options."""
    found = []
    for block in blocks or []:
        for element in block.get("elements", []) if block["type"] == "actions" else []:
            if element["type"] == "button":
                found.append([element["text"]["text"], element["value"], element.get("style", "")])
            for option in element.get("options", []):
                found.append([option["text"]["text"], option["value"], "option"])
    return found


def show(channel, message, form=None):
    blocks = message.get("blocks")
    form = form or ("markdown" if any(block["type"] == "markdown" for block in blocks or []) else
                    "mrkdwn" if blocks else "plain")
    tell(happened="shown", id=message["ts"], channel=channel, thread=message.get("thread_ts"),
         text=words(blocks) or message.get("text", ""), fallback=message.get("text", ""), form=form, private=False,
         streaming=message["ts"] in streams, buttons=buttons(blocks),
         files=[[one["name"], one["size"]] for one in message.get("files", [])])


def asyncio_run(coroutine):
    """From a thread of the Web API."""
    asyncio.run_coroutine_threadsafe(coroutine, loop)
