"""Holds the fake Discord up to a client that nobody here wrote: discord.py logs in, receives, sends, edits, uploads, opens a
thread, answers interactions, waits out a bucket, loses its socket and resumes. Says "everything held" and succeeds, or says what
did not."""
import asyncio
import io
import json
import pathlib
import sys

import discord
from discord import app_commands
from discord.gateway import DiscordWebSocket
from yarl import URL

HERE = pathlib.Path(__file__).parent
ANN = "100000000000000001"
GENERAL = "700000000000000001"
DIRECT = "500000000000000001"
GUILD = "800000000000000001"


class Fake:
    """The server, its commands and its ledger."""

    def __init__(self):
        self.ledger = []
        self.changed = asyncio.Event()

    async def start(self):
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, str(HERE / "server.py"), "--whole", stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE)
        self.ports = [int(port) for port in (await self.process.stdout.readline()).split()[1:]]
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        async for line in self.process.stdout:
            self.ledger.append(json.loads(line))
            self.changed.set()

    def do(self, **command):
        self.process.stdin.write((json.dumps(command) + "\n").encode())

    def say(self, channel, text, **more):
        message = {"channel_id": channel, "content": text, "author": {"id": ANN}, **more}
        if channel == GENERAL:
            message["guild_id"] = GUILD
        self.do(do="say", message=message)

    async def happened(self, kind, **wanted):
        while True:
            for event in self.ledger:
                if event["happened"] == kind and all(event.get(key) == value for key, value in wanted.items()):
                    return event
            self.changed.clear()
            await self.changed.wait()


class Bot(discord.Client):
    def __init__(self):
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        super().__init__(intents=intents)
        self.tree = app_commands.CommandTree(self)
        self.heard = asyncio.Queue()
        self.happenings = asyncio.Queue()

    async def on_ready(self):
        self.happenings.put_nowait("ready")

    async def on_resumed(self):
        self.happenings.put_nowait("resumed")

    async def on_message(self, message):
        if message.author != self.user:
            self.heard.put_nowait(message)

    async def on_thread_create(self, thread):
        self.happenings.put_nowait(f"thread {thread.name}")


class Buttons(discord.ui.View):
    @discord.ui.button(label="Yes", style=discord.ButtonStyle.green, custom_id="yes")
    async def yes(self, interaction, button):
        await interaction.response.edit_message(content=f"{interaction.user.name} said yes", view=None)


async def check(fake, bot):
    assert await bot.happenings.get() == "ready"
    assert bot.user.name == "relay" and bot.guilds[0].name == "Workshop"
    general = bot.get_channel(int(GENERAL))
    assert general.name == "general" and general.permissions_for(bot.guilds[0].me).send_messages

    fake.say(DIRECT, "hello")
    heard = await bot.heard.get()
    assert (heard.content, heard.author.id, heard.guild) == ("hello", int(ANN), None)
    fake.say(GENERAL, "all")
    heard = await bot.heard.get()
    assert (heard.content, heard.guild.id, heard.author.roles[-1].name) == ("all", int(GUILD), "Crew")

    sent = await general.send("one", allowed_mentions=discord.AllowedMentions.none())
    await sent.edit(content="two")
    await fake.happened("shown", text="two", id=str(sent.id), pings=True)
    twice = [await general.send("once", nonce="n1") for _ in range(2)]
    assert twice[0].id == twice[1].id
    upload = await general.send(file=discord.File(io.BytesIO(b"some bytes"), "notes.txt"))
    assert await upload.attachments[0].read() == b"some bytes"
    history = [message.content async for message in general.history(after=sent, oldest_first=True)]
    assert history == ["once", ""], history
    await sent.add_reaction("👀")
    await fake.happened("reacted", reaction="👀", id=str(sent.id))
    await sent.delete()
    await fake.happened("removed", id=str(sent.id))
    try:
        await sent.edit(content="too late")
        raise AssertionError("a deleted message was changed")
    except discord.NotFound as problem:
        assert problem.code == 10008

    thread = await general.create_thread(name="fixes", type=discord.ChannelType.public_thread)
    assert await bot.happenings.get() == "thread fixes" and thread.parent_id == general.id
    await thread.send("in the thread")

    fake.do(do="limit", count=2, seconds=0.5)
    await asyncio.gather(*(general.send(f"number {number}") for number in range(5)))
    fake.do(do="limit", count=5, seconds=0.2)
    await check_interactions(fake, bot, general)

    fake.do(do="drop")
    fake.say(DIRECT, "meanwhile")
    assert await bot.happenings.get() == "resumed"
    assert (await bot.heard.get()).content == "meanwhile"


async def check_interactions(fake, bot, general):
    person = {"id": ANN, "username": "ann", "discriminator": "0", "avatar": None}
    member = {"user": person, "roles": [], "joined_at": None, "deaf": False, "mute": False, "flags": 0,
              "permissions": "0", "nick": None}

    @bot.tree.command(name="ping", description="answers", guild=discord.Object(GUILD))
    async def ping(interaction: discord.Interaction, text: str):
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.followup.send(f"pong {text}")

    @ping.autocomplete("text")
    async def complete(interaction, typed):
        return [app_commands.Choice(name=typed + "!", value=typed + "!")]

    registered = await bot.tree.sync(guild=discord.Object(GUILD))
    await fake.happened("registered", guild=GUILD, names=["ping"])
    data = {"id": str(registered[0].id), "name": "ping", "type": 1, "guild_id": GUILD}
    fake.do(do="interact", interaction={"type": 4, "channel_id": GENERAL, "guild_id": GUILD, "member": member, "data": dict(
        data, options=[{"name": "text", "type": 3, "value": "he", "focused": True}])})
    await fake.happened("choices", names=["he!"])
    fake.do(do="interact", interaction={"type": 2, "channel_id": GENERAL, "guild_id": GUILD, "member": member, "data": dict(
        data, options=[{"name": "text", "type": 3, "value": "he"}])})
    await fake.happened("shown", text="pong he", private=True)

    question = await general.send("yes?", view=Buttons())
    fake.do(do="interact", interaction={"type": 3, "channel_id": GENERAL, "guild_id": GUILD, "member": member,
                                        "message_id": str(question.id), "data": {"custom_id": "yes", "component_type": 2}})
    await fake.happened("shown", text="ann said yes", id=str(question.id))


async def main():
    fake = Fake()
    await fake.start()
    print("ports", *fake.ports, flush=True)
    discord.http.Route.BASE = f"http://127.0.0.1:{fake.ports[1]}/api/v10"
    DiscordWebSocket.DEFAULT_GATEWAY = URL(f"ws://127.0.0.1:{fake.ports[0]}")
    bot = Bot()
    try:
        life = asyncio.create_task(bot.start("the-token"))
        done, _ = await asyncio.wait([life, asyncio.create_task(check(fake, bot))], return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        print("everything held")
    finally:
        await bot.close()
        fake.process.stdin.close()
        await fake.process.wait()


asyncio.run(asyncio.wait_for(main(), 60))
