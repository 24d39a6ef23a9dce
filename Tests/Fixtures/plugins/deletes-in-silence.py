#!/usr/bin/env python3
from messenger import Failure, Messenger


class Broken(Messenger):
    def message_delete(self, params):
        raise Failure(-32000, "not now")


Broken().run()
