#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def handle(self, message):
        if message["method"] == "initialize":
            super().handle(message)


Broken().run()
