#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def initialize(self, params):
        if "state" in params:
            params["state"]["position"]
        return super().initialize(params)


Broken().run()
