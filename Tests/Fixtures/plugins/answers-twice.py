#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def handle(self, message):
        super().handle(message)
        if message["method"] == "typing.set":
            super().handle(message)


Broken().run()
