#!/usr/bin/env python3
from messenger import Failure, Messenger


class Broken(Messenger):
    def message_send(self, params):
        if len(params["text"].encode()) > 2000:
            raise Failure(-32000, "at most 2000 bytes", {"kind": "too_large"})
        return super().message_send(params)


Broken().run()
