#!/usr/bin/env python3
import json
import sys

from messenger import Messenger


class Broken(Messenger):
    def run(self):
        for line in sys.stdin:
            message = json.loads(line)
            if "method" in message:
                self.handle({"id": None, **message})


Broken().run()
