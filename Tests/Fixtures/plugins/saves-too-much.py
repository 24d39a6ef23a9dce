#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def begin(self):
        self.ask("state.save", {"state": "x" * (257 << 10)})


Broken().run()
