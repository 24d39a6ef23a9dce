"""The peer of our Discord figures: the usual bot of its kind, on discord.py. One pi process for each conversation, a message
that says "Thinking..." and is edited as the answer grows, and nothing that survives a crash."""
import asyncio
import json
import os
import time

import discord
from discord.gateway import DiscordWebSocket
from yarl import URL

EDIT_INTERVAL = 0.7
LIMIT = 2000


class Pi:
    """One conversation's agent."""

    def __init__(self):
        self.lock = asyncio.Lock()
        self.process = None

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            os.environ["PI_EXECUTABLE"], "--mode", "rpc", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, limit=1 << 26)

    async def prompt(self, text):
        """The deltas of the answer, and at last its whole text."""
        if self.process is None:
            await self.start()
        self.process.stdin.write((json.dumps({"id": "1", "type": "prompt", "message": text}) + "\n").encode())
        await self.process.stdin.drain()
        async for line in self.process.stdout:
            event = json.loads(line)
            kind = event.get("type")
            if kind == "message_update":
                delta = event.get("assistantMessageEvent", {})
                if delta.get("type") == "text_delta":
                    yield delta["delta"], None
            elif kind == "message_end" and event["message"]["role"] == "assistant":
                parts = event["message"]["content"]
                yield "", "".join(part["text"] for part in parts if part["type"] == "text")
            elif kind == "agent_settled":
                return


class Bot(discord.Client):
    def __init__(self):
        super().__init__(intents=discord.Intents(
            guilds=True, guild_messages=True, dm_messages=True, message_content=True))
        self.agents = {}

    async def on_message(self, message):
        if message.author.bot or str(message.author.id) != os.environ["ALLOWED_USER"]:
            return
        agent = self.agents.setdefault(message.channel.id, Pi())
        async with agent.lock:
            await self.answer(message, agent)

    async def answer(self, message, agent):
        # Asked first, so that the figure does not count a request that nobody waits for.
        progress = asyncio.create_task(message.channel.send("Thinking..."))
        text, last = "", time.monotonic()
        async for delta, whole in agent.prompt(message.content):
            text = whole if whole is not None else text + delta
            if whole is None and time.monotonic() - last > EDIT_INTERVAL:
                last = time.monotonic()
                await (await progress).edit(content=text[-LIMIT:])
        await (await progress).edit(content=text[:LIMIT] or "I did not get a response.")
        for start in range(LIMIT, len(text), LIMIT):
            await message.channel.send(text[start:start + LIMIT])


discord.http.Route.BASE = os.environ["DISCORD_API"] + "/api/v10"
DiscordWebSocket.DEFAULT_GATEWAY = URL(os.environ["DISCORD_GATEWAY"])
Bot().run(os.environ["DISCORD_BOT_TOKEN"], log_handler=None)
