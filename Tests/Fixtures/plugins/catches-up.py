#!/usr/bin/env python3
from messenger import Mailbox

Mailbox().run()
