#!/usr/bin/env python3
from messenger import Messenger


class Broken(Messenger):
    """The method is named by the configuration."""
    method = None

    def initialize(self, params):
        self.method = params["config"]["method"]
        reply = super().initialize(params)
        reply["kinds"].append("service")
        reply["capabilities"]["services"] = ["format.render", "format.tool", "attachments.prepare"]
        return reply

    def answer(self, method, params):
        return None if method == self.method else super().answer(method, params)

    def format_render(self, params):
        pieces = [params["text"][start:start + 60] for start in range(0, len(params["text"]), 60)]
        return {"pieces": [{"text": piece, "consumed": 60 * number} for number, piece in enumerate(pieces)]}

    def format_tool(self, params):
        return {"lines": [call["name"] for call in params["calls"]]}

    def attachments_prepare(self, params):
        return {"images": [], "text": "a file"}


if __name__ == "__main__":
    Broken().run()
