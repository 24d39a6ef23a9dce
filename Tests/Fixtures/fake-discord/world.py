"""What there is at this Discord, and the ledger of what people see: one line of JSON on standard output for each thing that
happens."""
import asyncio
import collections
import json
import threading
import time

TOKEN = "the-token"
BOT = {"id": "900000000000000001", "username": "relay", "global_name": None, "discriminator": "0000", "avatar": None,
       "bot": True}
ANN = {"id": "100000000000000001", "username": "ann", "global_name": "Ann", "discriminator": "0", "avatar": None}
GUILD = "800000000000000001"
ROLE = "810000000000000001"
CHANNELS = {"700000000000000001": "general", "600000000000000001": "other"}
EPHEMERAL = 64

lock = threading.RLock()
ports = []
scheme = {"secure": ""}
loop = None
_last = 0
channels = {}
messages = {}
nonces = {}
interactions = {}
commands = {}
files = {}
limit = {"count": 5, "seconds": 0.2}
sent = {}
recent = collections.deque()
failures = []
# How slowly what was written is told, and with which failures first.
history = {"seconds": 0, "failures": []}
# Tokens of interactions count for nothing any more.
expired = {"webhooks": False}
# As the developer portal has it: whether it reads messages, and whether it was invited.
application = {"flags": 1 << 19, "invited": True}
members = {ANN["id"]: {"user": ANN, "roles": [ROLE]}}
broadcast = None


def new_id():
    """Ids tell the time, and each is larger than the one before."""
    global _last
    with lock:
        _last = max(_last + 1, int(time.time() * 1000 - 1420070400000) << 22)
        return str(_last)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00", time.gmtime())


def tell(**what):
    what.setdefault("at", time.monotonic_ns())
    with lock:
        print(json.dumps(what), flush=True)


def dispatch(event, data):
    """From any thread."""
    asyncio.run_coroutine_threadsafe(broadcast(event, data), loop)


def base():
    return f"http{scheme['secure']}://127.0.0.1:{ports[1]}"


def gateway():
    return f"ws{scheme['secure']}://127.0.0.1:{ports[0]}"


def channel(id, name, type=0, parent=None):
    one = {"id": id, "type": type, "name": name, "guild_id": GUILD, "position": 0, "permission_overwrites": [],
           "nsfw": False, "parent_id": parent, "topic": None, "last_message_id": None, "rate_limit_per_user": 0}
    if type == 11:
        one.update(owner_id=BOT["id"], message_count=0, member_count=1, applied_tags=[], thread_metadata={
            "archived": False, "auto_archive_duration": 1440, "archive_timestamp": now(), "locked": False,
            "create_timestamp": now()})
    channels[id] = one
    return one


def direct_channel(user):
    for one in channels.values():
        if one["type"] == 1 and one["recipients"][0]["id"] == user:
            return one
    known = members.get(user, {}).get("user") or dict(ANN, id=user)
    id = "500000000000000001" if user == ANN["id"] else new_id()
    channels[id] = {"id": id, "type": 1, "recipients": [known], "last_message_id": None}
    return channels[id]


def guild():
    role = {"id": GUILD, "name": "@everyone", "color": 0, "colors": {"primary_color": 0}, "hoist": False, "position": 0,
            "permissions": "2251799813685239", "managed": False, "mentionable": False, "flags": 0}
    return {
        "id": GUILD, "name": "Workshop", "owner_id": ANN["id"], "icon": None, "splash": None, "discovery_splash": None,
        "afk_channel_id": None, "afk_timeout": 300, "verification_level": 0, "default_message_notifications": 0,
        "explicit_content_filter": 0, "roles": [role, dict(role, id=ROLE, name="Crew", position=1)], "emojis": [],
        "features": [], "mfa_level": 0, "application_id": None, "system_channel_id": None, "system_channel_flags": 0,
        "rules_channel_id": None, "vanity_url_code": None, "description": None, "banner": None, "premium_tier": 0,
        "premium_subscription_count": 0, "preferred_locale": "en-US", "public_updates_channel_id": None, "nsfw_level": 0,
        "stickers": [], "premium_progress_bar_enabled": False, "safety_alerts_channel_id": None, "large": False,
        "joined_at": now(), "member_count": len(members) + 1, "unavailable": False, "voice_states": [], "presences": [],
        "stage_instances": [], "guild_scheduled_events": [], "soundboard_sounds": [],
        "members": [member(BOT)] + [member(one["user"]) for one in members.values()],
        "channels": [one for one in channels.values() if one["type"] == 0],
        "threads": [one for one in channels.values() if one["type"] == 11]}


def member(user):
    return {"user": user, "nick": None, "roles": members.get(user["id"], {}).get("roles", []), "joined_at": now(),
            "deaf": False, "mute": False, "flags": 0, "permissions": "2251799813685239"}


def message(channel, author, content, **more):
    one = {"id": new_id(), "channel_id": channel, "author": author, "content": content, "timestamp": now(),
           "edited_timestamp": None, "tts": False, "mention_everyone": False, "mentions": [], "mention_roles": [],
           "attachments": [], "embeds": [], "pinned": False, "type": 0, "flags": 0, "components": []}
    one.update(more)
    if channels.get(channel, {}).get("guild_id"):
        one.setdefault("guild_id", GUILD)
    messages[one["id"]] = one
    if channel in channels and not one["flags"] & EPHEMERAL:
        channels[channel]["last_message_id"] = one["id"]
    return one


def public(one):
    """As REST answers: without what only the gateway says."""
    return {key: value for key, value in one.items() if key not in ("guild_id", "member", "seen_by")}


def labels(components):
    """[[label, id, style], …] of all buttons; of a select menu its options."""
    found = []
    for row in components or []:
        for part in row.get("components", []):
            if part["type"] == 2:
                found.append([part["label"], part["custom_id"], part["style"]])
            for option in part.get("options", []):
                found.append([option["label"], option["value"], 0])
    return found


def show(one, pings=False):
    tell(happened="shown", id=one["id"], channel=one["channel_id"], text=one["content"], pings=pings,
         private=bool(one["flags"] & EPHEMERAL), buttons=labels(one["components"]),
         files=[[attachment["filename"], attachment["size"]] for attachment in one["attachments"]])


def start():
    for id, name in CHANNELS.items():
        channel(id, name)
    direct_channel(ANN["id"])
