"""Holds the fake Slack up to clients that nobody here wrote: slack-bolt listens by Socket Mode, answers messages, a command, a
button and a form; slack-sdk sends, changes, streams, uploads, looks messages up by their metadata, and waits out a 429. Says
"everything held" and succeeds, or says what did not."""
import json
import pathlib
import queue
import subprocess
import sys
import threading

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

HERE = pathlib.Path(__file__).parent
LIMIT = 20


class Fake:
    """The server, its commands and its ledger."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, str(HERE / "server.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.ports = [int(port) for port in self.process.stdout.readline().split()[1:]]
        self.ledger = []
        self.changed = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.ledger.append(json.loads(line))
                self.changed.notify_all()

    def do(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def happened(self, kind, **wanted):
        def find():
            return next((event for event in self.ledger if event["happened"] == kind
                         and all(event.get(key) == value for key, value in wanted.items())), None)
        with self.changed:
            assert self.changed.wait_for(find, LIMIT), (kind, wanted, self.ledger[-10:])
            return find()


def check(fake, client, heard):
    fake.do(do="say", channel="D0ANN", text="hello")
    assert heard.get(timeout=LIMIT) == "hello"
    fake.happened("shown", channel="D0ANN", text="heard hello")
    fake.happened("acknowledged", type="events_api")
    fake.do(do="say", channel="C0GEN", text="you there", mention=True)
    assert heard.get(timeout=LIMIT).endswith("you there")
    fake.do(do="command", text="status", channel="C0GEN")
    fake.happened("shown", text="status of ann", private=True)

    sent = client.chat_postMessage(channel="C0GEN", text="one", metadata={
        "event_type": "t", "event_payload": {"key": "k1"}}, blocks=[
            {"type": "markdown", "text": "**one**"},
            {"type": "actions", "elements": [{"type": "button", "action_id": "yes", "value": "1", "text": {
                "type": "plain_text", "text": "Yes"}}]}])
    found = client.conversations_history(channel="C0GEN", include_all_metadata=True)["messages"]
    assert [one["metadata"]["event_payload"]["key"] for one in found if "metadata" in one] == ["k1"]
    fake.do(do="press", channel="C0GEN", ts=sent["ts"], value="1")
    fake.happened("shown", id=sent["ts"], text="pressed")
    fake.happened("form", title="A form")
    fake.do(do="submit", text="words")
    assert heard.get(timeout=LIMIT) == "words"

    stream = client.chat_stream(channel="C0GEN", thread_ts=sent["ts"], recipient_team_id="T0001", recipient_user_id="U0ANN",
                                buffer_size=1)
    stream.append(markdown_text="The ")
    stream.append(markdown_text="quick")
    stream.stop(markdown_text=" fox")
    fake.happened("shown", text="The quick fox", streaming=False, thread=sent["ts"])
    replies = client.conversations_replies(channel="C0GEN", ts=sent["ts"])["messages"]
    assert [one["text"] for one in replies][1:] == ["The quick fox"]

    uploaded = client.files_upload_v2(channel="C0GEN", filename="notes.txt", content="some bytes")
    assert uploaded["file"]["size"] == 10
    assert client.users_info(user="U0ANN")["user"]["profile"]["display_name"] == "Ann"
    client.reactions_add(channel="C0GEN", timestamp=sent["ts"], name="eyes")
    client.chat_delete(channel="C0GEN", ts=sent["ts"])
    fake.happened("removed", id=sent["ts"])
    for call, error in [(lambda: client.chat_update(channel="C0GEN", ts=sent["ts"], text="late"), "message_not_found"),
                        (lambda: client.chat_postMessage(channel="C9", text="lost"), "channel_not_found")]:
        try:
            call()
            raise AssertionError(error)
        except SlackApiError as problem:
            assert problem.response["error"] == error, problem

    fake.do(do="fail", method="chat.postMessage", answers=[{"wait": 1}])
    fake.happened("will fail")
    client.chat_postMessage(channel="C0GEN", text="patient")
    fake.happened("429", method="chat.postMessage")
    fake.do(do="warn", reason="refresh_requested")
    fake.happened("connected", connections=1)
    fake.do(do="say", channel="D0ANN", text="after")
    assert heard.get(timeout=LIMIT) == "after"


def main():
    fake = Fake()
    print("ports", *fake.ports, flush=True)
    base = f"http://127.0.0.1:{fake.ports[1]}/api/"
    client = WebClient(token="xoxb-the-token", base_url=base,
                       retry_handlers=[RateLimitErrorRetryHandler(max_retry_count=2)])
    app = App(client=client, token_verification_enabled=False)
    heard = queue.Queue()

    @app.event("message")
    def message(event, say):
        if event.get("channel_type") == "im":
            heard.put(event["text"])
            say(f"heard {event['text']}")

    @app.event("app_mention")
    def mention(event):
        heard.put(event["text"])

    @app.command("/pi")
    def command(ack, respond, command):
        ack()
        respond(f"{command['text']} of {command['user_name']}", response_type="ephemeral")

    @app.action("yes")
    def press(ack, body, client):
        ack()
        client.chat_update(channel=body["channel"]["id"], ts=body["message"]["ts"], text="pressed")
        client.views_open(trigger_id=body["trigger_id"], view={
            "type": "modal", "callback_id": "form", "title": {"type": "plain_text", "text": "A form"}, "blocks": [{
                "type": "input", "block_id": "answer", "label": {"type": "plain_text", "text": "?"}, "element": {
                    "type": "plain_text_input", "action_id": "text"}}]})

    @app.view("form")
    def form(ack, view):
        ack()
        heard.put(view["state"]["values"]["answer"]["text"]["value"])

    handler = SocketModeHandler(app, "xapp-the-token", web_client=WebClient(token="xoxb-the-token", base_url=base))
    handler.connect()
    try:
        fake.happened("connected")
        check(fake, client, heard)
        print("everything held", flush=True)
    finally:
        handler.close()
        fake.process.stdin.close()


main()
