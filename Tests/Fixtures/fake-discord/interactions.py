"""Interactions: the first answer within three seconds, one of them, and messages that only one person sees."""
import time

import world
from world import tell

UNKNOWN_INTERACTION = (404, {"message": "Unknown interaction", "code": 10062})
ACKNOWLEDGED = (400, {"message": "Interaction has already been acknowledged.", "code": 40060})
EXPIRED = (401, {"message": "Invalid Webhook Token", "code": 50027})
UNKNOWN_WEBHOOK = (404, {"message": "Unknown Webhook", "code": 10015})
UNKNOWN_MESSAGE = (404, {"message": "Unknown Message", "code": 10008})


def begin(data, taken=False):
    """Somebody used a command, a button or a form; returns what the gateway says of it. "taken": another bot of
    the same token has answered it."""
    id = world.new_id()
    user = (data.get("member") or {}).get("user") or data.get("user")
    full = dict(data, id=id, token=f"token-{id}", application_id=world.BOT["id"], version=1, locale="en-US",
                entitlements=[], app_permissions="2251799813685247", authorizing_integration_owners={}, context=0,
                attachment_size_limit=10 << 20)
    full.setdefault("channel", world.channels.get(data["channel_id"], {"id": data["channel_id"], "type": 1}))
    if "message_id" in full:
        full["message"] = world.messages[full.pop("message_id")]
    world.interactions[full["token"]] = {
        "id": id, "type": data["type"], "began": time.monotonic(), "answer": None, "channel": data["channel_id"], "user": user["id"],
        "original": full.get("message", {}).get("id"), "private": False}
    if taken:
        world.interactions[full["token"]]["answer"] = 5
    return full


def callback(id, token, data, query):
    one = world.interactions.get(token)
    if one is None or one["id"] != id or time.monotonic() - one["began"] > 3:
        return UNKNOWN_INTERACTION
    if one["answer"] is not None:
        return ACKNOWLEDGED
    one["answer"] = data["type"]
    words = data.get("data") or {}
    tell(happened="callback", interaction=id, type=data["type"])
    if data["type"] in (4, 5):
        one["private"] = bool((words.get("flags") or 0) & world.EPHEMERAL)
        one["original"] = None
    if data["type"] == 4:
        one["original"] = create(one, words)["id"]
    elif data["type"] == 7:
        change(world.messages[one["original"]], words)
    elif data["type"] == 8:
        tell(happened="choices", names=[choice["name"] for choice in words["choices"]])
    elif data["type"] == 9:
        field = words["components"][0]["components"][0]
        tell(happened="form", id=words["custom_id"], title=words["title"], prefill=field.get("value"))
    if query.get("with_response") not in ("true", "1"):
        return 204, None
    resource = {"type": data["type"]}
    if one["original"]:
        resource["message"] = world.public(world.messages[one["original"]])
    return 200, {"resource": resource, "interaction": {
        "id": id, "type": one["type"], "response_message_id": one["original"],
        "response_message_loading": data["type"] == 5, "response_message_ephemeral": one["private"]}}


def create(one, words, private=None):
    private = one["private"] if private is None else private
    message = world.message(one["channel"], world.BOT, words.get("content") or "", components=words.get("components") or [],
                            flags=world.EPHEMERAL if private else 0)
    world.show(message, words.get("allowed_mentions") != {"parse": []})
    return message


def change(message, words):
    message.update({key: words[key] for key in ("content", "components") if key in words})
    world.show(message, words.get("allowed_mentions") != {"parse": []})


def follow_up(token, data):
    if world.expired["webhooks"]:
        return EXPIRED
    one = world.interactions.get(token)
    if one is None or one["answer"] is None:
        return UNKNOWN_WEBHOOK
    if one["answer"] == 5 and one["original"] is None:
        # The first takes the place of "is thinking…", and is for the same eyes.
        created = create(one, data)
        one["original"] = created["id"]
    else:
        created = create(one, data, bool((data.get("flags") or 0) & world.EPHEMERAL))
    return 200, world.public(created)


def reply(method, token, message, data):
    if world.expired["webhooks"]:
        return EXPIRED
    one = world.interactions.get(token)
    if one is None or one["answer"] is None:
        return UNKNOWN_WEBHOOK
    if message == "@original":
        message = one["original"]
        if message is None and method == "PATCH":
            created = create(one, data)
            one["original"] = created["id"]
            return 200, world.public(created)
    found = world.messages.get(message)
    if found is None:
        return UNKNOWN_MESSAGE
    if method == "PATCH":
        change(found, data)
    elif method == "DELETE":
        del world.messages[message]
        tell(happened="removed", id=message)
        return 204, None
    return 200, world.public(found)
