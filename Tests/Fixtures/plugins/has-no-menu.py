#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    commands_changed = None


Broken().run()
