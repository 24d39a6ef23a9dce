#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def message_lookup(self, params):
        return {"message": None}


Broken().run()
