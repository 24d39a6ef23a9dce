#!/usr/bin/env python3
import os

from messenger import Mailbox


class Broken(Mailbox):
    """Forgets its state, and makes up an id for whatever it finds."""
    def initialize(self, params):
        return super().initialize({})

    def identity(self):
        return f"{os.getpid()}-{self.cursor}"


Broken().run()
