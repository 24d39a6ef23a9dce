#!/usr/bin/env python3
import sys

from messenger import Messenger


class Broken(Messenger):
    def ping(self, params):
        if len(str(params)) > 1000:
            sys.exit(4)
        return {}


Broken().run()
