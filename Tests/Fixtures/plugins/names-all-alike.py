#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    def post(self, params):
        self.keys[params["key"]] = "m"
        return {"message": "m"}

    message_send = file_send = dialog_show = post


Broken().run()
