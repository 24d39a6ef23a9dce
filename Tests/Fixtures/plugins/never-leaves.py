#!/usr/bin/env python3
import signal

from messenger import Messenger


class Broken(Messenger):
    def run(self):
        super().run()
        signal.pause()


Broken().run()
