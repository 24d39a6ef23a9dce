#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def typing_set(self, params):
        print("typing in", params["conversation"], flush=True)
        return {}


Broken().run()
