#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def typing_set(self, params):
        self.say({"id": "typing", "result": {}})
        return {}


Broken().run()
