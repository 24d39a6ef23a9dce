#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def begin(self):
        self.ask("message.recieved", {"id": "1"})


Broken().run()
