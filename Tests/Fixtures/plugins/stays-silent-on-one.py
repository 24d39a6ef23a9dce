#!/usr/bin/env python3
import importlib

Base = importlib.import_module("answers-null").Broken


class Silent(Base):
    """The method is named by the configuration; others are answered."""
    def answer(self, method, params):
        return super(Base, self).answer(method, params)

    def handle(self, message):
        if message["method"] != self.method:
            super().handle(message)


Silent().run()
