#!/usr/bin/env python3
import sys

from messenger import Messenger


class Broken(Messenger):
    def message_send(self, params):
        sys.exit(3)


Broken().run()
