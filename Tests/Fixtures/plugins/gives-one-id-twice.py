#!/usr/bin/env python3
from messenger import Mailbox


class Broken(Mailbox):
    def identity(self):
        return "p"


Broken().run()
