#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def message_edit(self, params):
        return "done"


Broken().run()
