"""Socket Mode: several connections at once, envelopes that are repeated until they are acknowledged, and warnings."""
import asyncio
import json

from websockets.exceptions import ConnectionClosed

import world
from world import tell

connections = []
tickets = set()
waiting = {}  # envelopes without an acknowledgement, by their ids
state = {"silent": False, "ignored": 0, "retry": 0.3}
ATTEMPTS = 20


class Connection:
    def __init__(self, socket):
        self.socket = socket

    async def send(self, **what):
        await self.socket.send(json.dumps(what))


async def ping(connection):
    while True:
        await asyncio.sleep(0.1)
        if not state["silent"]:
            await connection.socket.ping()


async def serve(socket):
    ticket = socket.request.path.partition("ticket=")[2]
    if ticket not in tickets:
        return await socket.close(1008, "invalid ticket")
    tickets.discard(ticket)
    connection = Connection(socket)
    if len(connections) >= 10:
        await connection.send(type="disconnect", reason="too_many_websockets")
        return await socket.close()
    await connection.send(type="hello", num_connections=len(connections) + 1,
                          connection_info={"app_id": world.APP}, debug_info={"approximate_connection_time": 18060})
    connections.append(connection)
    tell(happened="connected", connections=len(connections))
    pings = asyncio.create_task(ping(connection))
    # What came meanwhile is sent as soon as there is a connection.
    for envelope in list(waiting.values()):
        envelope["wake"].set()
    try:
        async for text in socket:
            acknowledge(json.loads(text))
    except ConnectionClosed:
        pass
    finally:
        pings.cancel()
        connections.remove(connection)
        tell(happened="left", connections=len(connections), code=socket.close_code)


def acknowledge(words):
    envelope = waiting.get(words.get("envelope_id"))
    if envelope is None:
        return
    if state["ignored"] > 0:
        state["ignored"] -= 1
        return tell(happened="ignored", envelope=words["envelope_id"])
    del waiting[words["envelope_id"]]
    envelope["done"].set()
    tell(happened="acknowledged", type=envelope["type"], attempt=envelope["attempt"])


async def deliver(kind, payload, **more):
    """Sends an envelope, and again until it is acknowledged, to any one of the connections."""
    id = world.new_id("envelope-")
    envelope = {"type": kind, "attempt": 0, "done": asyncio.Event(), "wake": asyncio.Event()}
    waiting[id] = envelope
    asyncio.create_task(repeat(id, envelope, kind, payload, more))


async def repeat(id, envelope, kind, payload, more):
    for attempt in range(ATTEMPTS):
        envelope["attempt"] = attempt
        envelope["wake"].clear()
        if connections:
            # The newest one, as a rule; any one may be meant.
            connection = connections[(attempt - 1) % len(connections)]
            try:
                await connection.send(
                    envelope_id=id, type=kind, payload=payload, accepts_response_payload=kind != "events_api",
                    retry_attempt=attempt, retry_reason="timeout" if attempt else "", **more)
                tell(happened="delivered", type=kind, attempt=attempt)
            except ConnectionClosed:
                pass
            pause = state["retry"]
        else:
            pause = None
        done, wake = asyncio.create_task(envelope["done"].wait()), asyncio.create_task(envelope["wake"].wait())
        await asyncio.wait([done, wake], timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        wake.cancel()
        if envelope["done"].is_set():
            return
    waiting.pop(id, None)
    tell(happened="given up", type=kind)


async def event(event):
    await deliver("events_api", {
        "token": "x", "team_id": world.TEAM, "api_app_id": world.APP, "event": event, "type": "event_callback",
        "event_id": world.new_id("Ev"), "event_time": 0, "is_ext_shared_channel": False,
        "authorizations": [{"team_id": world.TEAM, "user_id": world.BOT_USER, "is_bot": True}]})


def channel_type(channel):
    return {"D": "im", "G": "group"}.get(channel[0], "channel")


async def say(command):
    channel, user = command["channel"], command.get("user", "U0ANN")
    with world.lock:
        text = (f"<@{world.BOT_USER}> " if command.get("mention") else "") + command["text"]
        message = {"type": "message", "user": user, "text": text, "ts": command.get("ts") or world.new_ts(),
                   "team": command.get("team") or world.users.get(user, {}).get("team_id", world.TEAM),
                   "client_msg_id": world.new_id("m")}
        if command.get("thread_ts"):
            message["thread_ts"] = command["thread_ts"]
        if command.get("files"):
            message.update(subtype="file_share", files=[world.public(world.files[id]) for id in command["files"]])
        message.update(command.get("with", {}))
        world.put(channel, message)
    tell(happened="said", ts=message["ts"], text=text, channel=channel)
    if command.get("silent"):
        return
    await event(dict(message, channel=channel, channel_type=channel_type(channel), event_ts=message["ts"]))
    # One that mentions the bot in a channel comes as two events.
    if command.get("mention") and channel[0] != "D":
        await event(dict(message, type="app_mention", channel=channel, event_ts=message["ts"]))


async def change(command, is_removed):
    channel = command["channel"]
    with world.lock:
        before = world.messages[channel][command["ts"]]
        if is_removed:
            del world.messages[channel][command["ts"]]
            change = {"subtype": "message_deleted", "deleted_ts": command["ts"], "previous_message": before}
        else:
            after = dict(before, text=command["text"])
            if command["text"] != before["text"]:
                after["edited"] = {"user": before["user"], "ts": world.new_ts()}
            world.messages[channel][command["ts"]] = after
            change = {"subtype": "message_changed", "message": after, "previous_message": before}
    await event({"type": "message", "hidden": True, "channel": channel, "channel_type": channel_type(channel),
                 "ts": world.new_ts(), "event_ts": world.new_ts(), **change})


def response(channel, user):
    id = world.new_id("response")
    world.responses = getattr(world, "responses", {})
    world.responses[id] = {"uses": 5, "channel": channel, "user": user}
    return f"{world.base()}/actions/{world.TEAM}/{id}"


async def interact(what, command):
    user, channel = command.get("user", "U0ANN"), command.get("channel", "D0ANN")
    who = {"id": user, "name": world.users.get(user, {}).get("name", "?"), "team_id": world.users.get(user, {}).get("team_id", world.TEAM)}
    trigger = world.new_id("trigger.")
    if what == "command":
        return await deliver("slash_commands", {
            "command": "/pi", "text": command["text"], "user_id": user, "user_name": who["name"], "team_id": who["team_id"],
            "channel_id": channel, "channel_name": "x", "api_app_id": world.APP, "trigger_id": trigger,
            "response_url": response(channel, user)})
    payload = {"user": who, "team": {"id": world.TEAM}, "api_app_id": world.APP, "trigger_id": trigger}
    if what == "press":
        found = world.messages.get(channel, {}).get(command["ts"]) or world.private.get(command["ts"])
        block, action = find(found, command["value"])
        action = {"type": action["type"], "action_id": action["action_id"], "block_id": block, **(
            {"selected_option": {"value": command["value"]}} if action["type"] == "static_select" else {"value": command["value"]})}
        payload.update(type="block_actions", channel={"id": channel}, actions=[action], message=found,
                       response_url=response(channel, user), container={
                           "type": "message", "message_ts": command["ts"], "channel_id": channel,
                           "is_ephemeral": command["ts"] in world.private})
    elif what == "submit":
        view = world.views["last"]
        payload.update(type="view_submission", view=dict(view, state={"values": {"answer": {"text": {
            "type": "plain_text_input", "value": command["text"]}}}}))
        payload.pop("trigger_id")
        payload["trigger_id"] = trigger
    else:
        payload.update(callback_id=command["callback_id"], type="shortcut")
        if "ts" in command:
            payload.update(type="message_action", channel={"id": channel}, response_url=response(channel, user),
                           message=world.messages[channel][command["ts"]])
    await deliver("interactive", payload)


def find(message, value):
    for number, block in enumerate(message.get("blocks", [])):
        for element in block.get("elements", []) if block["type"] == "actions" else []:
            options = [option["value"] for option in element.get("options", [])]
            if element.get("value") == value or value in options:
                return block.get("block_id") or f"block{number}", element
    raise KeyError(value)


async def warn(reason):
    for connection in list(connections):
        await connection.send(type="disconnect", reason=reason, debug_info={"host": "x"})
        if reason in ("link_disabled", "too_many_websockets"):
            await connection.socket.close()
    if reason == "link_disabled":
        world.failures.setdefault("apps.connections.open", []).append({"error": "access_denied"})
