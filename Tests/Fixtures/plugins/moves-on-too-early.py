#!/usr/bin/env python3
from messenger import Mailbox


class Broken(Mailbox):
    def hand_over(self):
        self.ask("state.save", {"state": {"cursor": self.cursor + 1}})
        super().hand_over()


Broken().run()
