"""What there is at this Telegram, and the ledger of what people see: one line of JSON on standard output for each thing that
happens."""
import collections
import json
import threading
import time

TOKEN = "123456789:the-TOKEN_of-the-tests"
BOT = {"id": 123456789, "is_bot": True, "first_name": "Relay", "username": "relay_bot"}
ANN = {"id": 1001, "is_bot": False, "first_name": "Ann", "username": "ann", "language_code": "en"}
GROUP = -500
FORUM = -1001000000001

lock = threading.RLock()
changed = threading.Condition(lock)
port = 0
chats = {}
messages = {}
updates = []
files = {}
queries = {}
commands = []
blocked = set()
failures = []
# Forms that are refused: {"rich": 400, "html": 400}, by the next so many messages; -1: by all.
refusals = {}
# Of an own server, which may be older, and of the bot itself.
server = {"rich": True, "drafts": True, "webhook": "", "privacy": True, "token": TOKEN, "folder": None, "poller": False,
          "away": False, "photos": True}
# Requests that one chat takes in that time; a group takes fewer.
limit = {"count": 6, "seconds": 3.0, "group": 20}
sent = collections.defaultdict(collections.deque)
recent = collections.deque()
poll = {"number": 0}
_last = {"update": 100_000, "message": collections.Counter(), "topic": 10, "query": 0}


def tell(**what):
    what.setdefault("at", time.monotonic_ns())
    with lock:
        print(json.dumps(what), flush=True)


def user(id):
    return dict(ANN, id=id) if id != ANN["id"] else ANN


def chat(id):
    """A chat with a person is there as soon as the person writes."""
    if id not in chats and id > 0:
        person = user(id)
        chats[id] = {"id": id, "type": "private", "first_name": person["first_name"], "username": person["username"]}
    return chats.get(id)


def message(chat_id, author, **content):
    _last["message"][chat_id] += 1
    one = {"message_id": _last["message"][chat_id], "date": int(time.time()), "chat": chats[chat_id]}
    if author:
        one["from"] = author
    one.update(content)
    messages[chat_id, one["message_id"]] = one
    return one


def update(**content):
    """Waits at Telegram until a request with a larger offset confirms it."""
    with lock:
        _last["update"] += 1
        updates.append({"update_id": _last["update"], **content})
        changed.notify_all()
        return _last["update"]


def new(kind):
    _last[kind] += 1
    return _last[kind]


def buttons(markup):
    """[[label, data, style], …] of all buttons."""
    rows = (markup or {}).get("inline_keyboard", [])
    return [[key["text"], key.get("callback_data", ""), key.get("style", "")] for row in rows for key in row]


def show(one, form, raw=None, markup=None, uploads=()):
    tell(happened="shown", id=one["message_id"], chat=one["chat"]["id"], topic=one.get("message_thread_id"),
         text=one.get("text", one.get("caption", "")), raw=raw, form=form, buttons=buttons(markup),
         asks=bool((markup or {}).get("force_reply")), files=[[name, kind, len(content)] for name, kind, content in uploads])


def public(one):
    return {key: value for key, value in one.items() if not key.startswith("_")}


def start():
    chats[GROUP] = {"id": GROUP, "type": "group", "title": "Workshop"}
    chats[FORUM] = {"id": FORUM, "type": "supergroup", "title": "Projects", "is_forum": True}
    _last["message"][FORUM] = 5_000
