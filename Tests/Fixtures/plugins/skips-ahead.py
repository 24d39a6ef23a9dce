#!/usr/bin/env python3
from messenger import Mailbox


class Broken(Mailbox):
    def initialize(self, params):
        reply = super().initialize(params)
        if params.get("state"):
            self.cursor += 1
        return reply


Broken().run()
