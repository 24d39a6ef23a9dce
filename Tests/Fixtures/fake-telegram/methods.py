"""The methods of the Bot API, as core.telegram.org/bots/api has them: those that a bot of conversations uses."""
import os
import re
import time

import markup
import world
from world import tell

REACTIONS = ["👍", "👎", "❤", "🔥", "🎉", "🤔", "👀", "💯", "🤝", "👌", "🙏", "😢"]
IMAGES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


class Refusal(Exception):
    def __init__(self, status, description, **parameters):
        self.status, self.description, self.parameters = status, description, parameters


def bad(words):
    return Refusal(400, "Bad Request: " + words)


def place(data):
    """The chat that a request names, where the bot may write."""
    id = int(data["chat_id"])
    chat = world.chat(id) if id in world.chats else None
    if chat is None:
        raise bad("chat not found")
    if "_moved" in chat:
        raise Refusal(400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat["_moved"])
    if id in world.blocked:
        raise Refusal(403, "Forbidden: bot was blocked by the user" if id > 0
                      else "Forbidden: bot was kicked from the group chat")
    topic = data.get("message_thread_id")
    if topic is not None and int(topic) not in chat.get("_topics", {}):
        raise bad("message thread not found")
    return chat


def take_limit(chat):
    now = time.monotonic()
    world.recent.append(now)
    while world.recent[0] < now - 1:
        world.recent.popleft()
    times = world.sent[chat]
    while times and times[0] < now - 60:
        times.popleft()
    count, seconds = world.limit["count"], world.limit["seconds"]
    short = [one for one in times if one > now - seconds]
    wait = None
    if len(world.recent) > 35:
        wait = 1
    elif len(short) >= count:
        wait = max(1, round(short[-count] + seconds - now + 0.5))
    elif chat < 0 and len(times) >= world.limit["group"]:
        wait = max(1, round(times[0] + 60 - now + 0.5))
    if wait is not None:
        tell(happened="429", chat=chat)
        raise Refusal(429, f"Too Many Requests: retry after {wait}", retry_after=wait)
    times.append(now)


def refuse_form(form):
    left = world.refusals.get(form, 0)
    if left:
        world.refusals[form] = left - 1
        raise bad("can't parse entities: as wished" if form == "html" else "RICH_MESSAGE_INVALID")


def words(data, most=4096):
    """(visible text, form, what was sent)"""
    if "rich_message" in data and world.server["rich"]:
        rich = data["rich_message"]
        if sum(key in rich for key in ("markdown", "html", "blocks")) != 1:
            raise bad("exactly one of the fields must be used")
        text = rich.get("markdown") or rich.get("html") or ""
        refuse_form("rich")
        if not text.strip():
            raise bad("message text is empty")
        if len(text) > 32768:
            raise bad("message is too long")
        return text, "rich", text
    text, mode = data.get("text", ""), data.get("parse_mode")
    form = "plain"
    if mode == "HTML":
        form = "html"
        refuse_form("html")
        try:
            text = markup.parse(text)
        except markup.Refused as why:
            raise bad(f"can't parse entities: {why}")
    elif mode:
        raise bad("unsupported parse_mode")
    if not text.strip():
        raise bad("message text is empty")
    if markup.length(text) > most:
        raise bad("message is too long")
    return text, form, data.get("text")


def keyboard(data):
    keys = data.get("reply_markup") or {}
    for row in keys.get("inline_keyboard", []):
        for key in row:
            if not key.get("text") or not 1 <= len(key.get("callback_data", "").encode()) <= 64:
                raise bad("BUTTON_DATA_INVALID")
    return keys


def in_topic(data):
    topic = data.get("message_thread_id")
    return {"message_thread_id": int(topic), "is_topic_message": True} if topic is not None else {}


def send(data, uploads):
    chat = place(data)
    text, form, raw = words(data)
    keys = keyboard(data)
    take_limit(chat["id"])
    one = world.message(chat["id"], world.BOT, text=text, **in_topic(data))
    one["_form"], one["_raw"], one["_keys"] = form, raw, keys
    if keys.get("inline_keyboard"):
        one["reply_markup"] = keys
    world.show(one, form, raw, keys)
    return world.public(one)


def send_rich(data, uploads):
    if "rich_message" not in data:
        raise bad("rich_message is empty")
    return send(data, uploads)


def draft(data, uploads):
    chat = place(data)
    if chat["id"] < 0 or int(data.get("draft_id", 0)) == 0:
        raise bad("drafts are shown in private chats, and have a number")
    text, form, _ = words(data) if data.get("text") or "rich_message" in data else ("Thinking…", "plain", "")
    take_limit(chat["id"])
    tell(happened="drafted", chat=chat["id"], topic=data.get("message_thread_id"), draft=int(data["draft_id"]), text=text,
         form=form, stops=bool(data.get("can_stop")))
    return True


def edit(data, uploads):
    chat = place(data)
    one = world.messages.get((chat["id"], int(data["message_id"])))
    if one is None or one.get("from") != world.BOT:
        raise bad("message to edit not found")
    if one["_keys"].get("force_reply"):
        raise bad("message can't be edited")
    text, form, raw = words(data)
    keys = keyboard(data)
    shown = [row for row in keys.get("inline_keyboard", []) if row]
    before = [row for row in one["_keys"].get("inline_keyboard", []) if row]
    if (text, form, shown) == (one["text"], one["_form"], before):
        raise bad("message is not modified: specified new message content and reply markup are exactly the same as a current "
                  "content and reply markup of the message")
    take_limit(chat["id"])
    one.update(text=text, edit_date=int(time.time()), _form=form, _raw=raw, _keys=keys)
    one.pop("reply_markup", None)
    if shown:
        one["reply_markup"] = keys
    world.show(one, form, raw, keys)
    return world.public(one)


def edit_keyboard(data, uploads):
    chat = place(data)
    one = world.messages.get((chat["id"], int(data["message_id"])))
    if one is None:
        raise bad("message to edit not found")
    one["_keys"] = keyboard(data)
    one["reply_markup"] = one["_keys"]
    world.show(one, one["_form"], one["_raw"], one["_keys"])
    return world.public(one)


def delete(data, uploads):
    chat = place(data)
    if world.messages.pop((chat["id"], int(data["message_id"])), None) is None:
        raise bad("message to delete not found")
    tell(happened="removed", id=int(data["message_id"]), chat=chat["id"])
    return True


def upload(kind, most):
    def method(data, uploads):
        chat = place(data)
        found = [one for one in uploads if one[0] == kind]
        if not found:
            raise bad(f"there is no {kind} in the request")
        _, name, mime, content = found[0]
        if len(content) > most:
            raise Refusal(413, "Request Entity Too Large")
        if kind == "photo":
            mime = next((known for start, known in IMAGES.items() if content.startswith(start)), None)
            if mime is None or not world.server["photos"]:
                raise bad("IMAGE_PROCESS_FAILED")
        caption = data.get("caption", "")
        if markup.length(caption) > 1024:
            raise bad("message caption is too long")
        take_limit(chat["id"])
        stored = world_file(content, name)
        if kind == "photo":
            stored = [dict(stored, width=1, height=1)]
        one = world.message(chat["id"], world.BOT, caption=caption, **{kind: stored}, **in_topic(data))
        one["_form"], one["_raw"], one["_keys"] = "file", caption, {}
        world.show(one, kind, uploads=[(name, mime, content)])
        return world.public(one)
    return method


def world_file(content, name="file"):
    id = f"file{len(world.files) + 1}"
    world.files[id] = (content, name)
    return {"file_id": id, "file_unique_id": "u" + id, "file_size": len(content), "file_name": name}


def get_file(data, uploads):
    id = data["file_id"]
    if id not in world.files:
        raise bad("invalid file_id")
    content, name = world.files[id]
    answer = {"file_id": id, "file_unique_id": "u" + id, "file_size": len(content)}
    if world.server["folder"]:
        # A server of one's own gives its own path, and has no limit.
        path = os.path.join(world.server["folder"], id)
        with open(path, "wb") as file:
            file.write(content)
        return dict(answer, file_path=path)
    if len(content) > 20 << 20:
        raise bad("file is too big")
    return dict(answer, file_path=f"documents/{id}")


def answer_query(data, uploads):
    if world.queries.pop(data["callback_query_id"], None) is None:
        raise bad("query is too old and response timeout expired or query ID is invalid")
    tell(happened="answered", query=data["callback_query_id"], text=data.get("text", ""))
    return True


def react(data, uploads):
    place(data)
    reactions = [one["emoji"] for one in data.get("reaction", [])]
    if len(reactions) > 1 or any(one not in REACTIONS for one in reactions):
        raise bad("REACTION_INVALID")
    tell(happened="reacted", id=int(data["message_id"]), chat=int(data["chat_id"]), reaction="".join(reactions))
    return True


def set_commands(data, uploads):
    found = data["commands"]
    if len(found) > 100 or any(not re.fullmatch("[a-z0-9_]{1,32}", one["command"]) or
                               not 1 <= len(one["description"]) <= 256 for one in found):
        raise bad("BOT_COMMAND_INVALID")
    world.commands[:] = found
    tell(happened="registered", names=[one["command"] for one in found])
    return True


def typing(data, uploads):
    place(data)
    tell(happened="typing", chat=int(data["chat_id"]))
    return True


def create_topic(data, uploads):
    chat = place(data)
    if not chat.get("is_forum"):
        raise bad("the chat is not a forum")
    if not 1 <= len(data.get("name", "")) <= 128:
        raise bad("TOPIC_TITLE_INVALID")
    id = world.new("topic")
    chat.setdefault("_topics", {})[id] = data["name"]
    tell(happened="topic", id=id, chat=chat["id"], name=data["name"])
    return {"message_thread_id": id, "name": data["name"], "icon_color": 7322096}


def me(data, uploads):
    return dict(world.BOT, can_join_groups=True, can_read_all_group_messages=not world.server["privacy"],
                supports_inline_queries=False, can_connect_to_business=False, has_main_web_app=False)


def get_chat(data, uploads):
    return dict(world.public(place(data)), accent_color_id=0, max_reaction_count=11, accepted_gift_types={
        "unlimited_gifts": False, "limited_gifts": False, "unique_gifts": False, "premium_subscription": False,
        "gifts_from_channels": False})


def webhook_info(data, uploads):
    return {"url": world.server["webhook"], "has_custom_certificate": False, "pending_update_count": len(world.updates)}


def delete_webhook(data, uploads):
    world.server["webhook"] = ""
    if data.get("drop_pending_updates"):
        world.updates.clear()
    return True


METHODS = {
    "getMe": me, "sendMessage": send, "editMessageText": edit, "editMessageReplyMarkup": edit_keyboard,
    "deleteMessage": delete, "sendPhoto": upload("photo", 10 << 20), "sendDocument": upload("document", 50 << 20),
    "getFile": get_file, "answerCallbackQuery": answer_query, "setMessageReaction": react, "setMyCommands": set_commands,
    "getMyCommands": lambda data, uploads: world.commands, "sendChatAction": typing, "createForumTopic": create_topic,
    "getChat": get_chat, "getWebhookInfo": webhook_info, "deleteWebhook": delete_webhook,
}


def find(name):
    if name in ("sendRichMessage", "sendRichMessageDraft") and not world.server["rich"]:
        return None
    if name in ("sendMessageDraft", "sendRichMessageDraft"):
        return draft if world.server["drafts"] else None
    return send_rich if name == "sendRichMessage" else METHODS.get(name)
