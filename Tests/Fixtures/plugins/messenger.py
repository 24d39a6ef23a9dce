#!/usr/bin/env python3
"""A messenger without a platform that keeps to the protocol; the broken ones beside it change one thing each."""
import json
import sys


class Failure(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class Messenger:
    capabilities = {
        "maximumTextLength": 2000, "lengthUnit": "utf16", "dialect": "plain", "edit": True, "typing": True, "lookup": True,
        "idempotencyKey": True, "outcomes": True, "commandsMenu": True, "maximumFileBytes": 1000, "threads": True,
        "directMessages": True, "presence": True, "buttons": {"rows": 5, "perRow": 5, "labelLength": 80, "idLength": 100}}

    def __init__(self):
        self.keys = {}
        self.number = 0

    def say(self, message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def ask(self, method, params):
        self.number += 1
        self.say({"id": f"own-{self.number}", "method": method, "params": params})
        return f"own-{self.number}"

    def run(self):
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                self.answered(message)
            elif "id" in message:
                self.handle(message)

    def handle(self, message):
        try:
            self.say({"id": message["id"], "result": self.answer(message["method"], message.get("params", {}))})
        except Failure as failure:
            self.say({"id": message["id"], "error": failure.error})
        if message["method"] == "initialize":
            self.begin()

    def answered(self, answer):
        """An answer to a request of ours."""

    def begin(self):
        self.ask("state.save", {"state": {"cursor": 7}})

    def answer(self, method, params):
        handler = getattr(self, method.replace(".", "_"), None)
        if handler is None:
            raise Failure(-32601, "there is no method " + method)
        return handler(params)

    def initialize(self, params):
        return {"protocolVersion": 1, "name": "messenger", "version": "1", "kinds": ["messenger"],
                "capabilities": self.capabilities}

    def post(self, params):
        return {"message": self.keys.setdefault(params["key"], f"m{len(self.keys)}")}

    def message_send(self, params):
        if len(params["text"].encode("utf-16-le")) > 4000:
            raise Failure(-32000, "too long", {"kind": "too_large"})
        return self.post(params)

    file_send = dialog_show = post

    def message_edit(self, params):
        return {}

    message_delete = message_settled = dialog_close = typing_set = commands_changed = presence_set = message_edit
    ping = shutdown = message_edit

    def message_lookup(self, params):
        return {"message": self.keys.get(params["key"])}

    def thread_create(self, params):
        return {"conversation": {"id": "t1", "kind": "thread", "parent": params["conversation"]}}

    def conversation_open(self, params):
        return {"conversation": {"id": "d1", "kind": "dm"}}


class Mailbox(Messenger):
    """A messenger whose platform keeps three messages, each handed over once the one before is stored."""
    letters = ["one", "two", "three"]
    waiting = None

    def initialize(self, params):
        self.cursor = (params.get("state") or {"cursor": 0})["cursor"]
        return super().initialize(params)

    def begin(self):
        self.hand_over()

    def identity(self):
        return f"p{self.cursor}"

    def letter(self):
        return {"id": self.identity(), "text": self.letters[self.cursor], "conversation": {"id": "c", "kind": "dm"},
                "sender": {"id": "u", "name": "Ann"}, "state": {"cursor": self.cursor + 1}}

    def hand_over(self):
        if self.cursor < len(self.letters):
            self.waiting = self.ask("message.received", self.letter())

    def answered(self, answer):
        if answer["id"] == self.waiting:
            if "result" in answer:
                self.cursor += 1
            elif answer["error"]["code"] != -32001:
                return
            self.hand_over()


if __name__ == "__main__":
    Messenger().run()
