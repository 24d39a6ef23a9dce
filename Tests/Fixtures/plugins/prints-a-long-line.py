#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def typing_set(self, params):
        self.ask("state.save", {"state": "x" * (17 << 20)})
        return {}


Broken().run()
