#!/usr/bin/env python3
from messenger import Failure, Messenger


class Broken(Messenger):
    closed = set()

    def dialog_close(self, params):
        if params["message"] in self.closed:
            raise Failure(-32603, "no such question")
        self.closed.add(params["message"])
        return {}


Broken().run()
