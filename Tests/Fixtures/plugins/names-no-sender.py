#!/usr/bin/env python3
from messenger import Mailbox


class Broken(Mailbox):
    def letter(self):
        letter = super().letter()
        del letter["sender"]
        return letter


Broken().run()
