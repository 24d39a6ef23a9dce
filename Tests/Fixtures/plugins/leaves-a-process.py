#!/usr/bin/env python3
import subprocess

from messenger import Messenger


class Broken(Messenger):
    def begin(self):
        subprocess.Popen(["sleep", "600"], start_new_session=True)


Broken().run()
