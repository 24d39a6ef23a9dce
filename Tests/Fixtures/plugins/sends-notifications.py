#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def typing_set(self, params):
        self.say({"method": "problem.report", "params": {}})
        return {}


Broken().run()
