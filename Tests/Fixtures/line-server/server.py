"""Speaks in lines: "echo TEXT", "long N", "count N", "hush" (nothing more is answered) and "bye". Prints "ports PORT" and what it is told."""

import os
import signal
import socketserver

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


class Talk(socketserver.StreamRequestHandler):
    def handle(self):
        is_quiet = False
        for raw in self.rfile:
            line = raw.decode().rstrip("\r\n")
            print(line, flush=True)
            verb, _, rest = line.partition(" ")
            if verb == "hush":
                is_quiet = True
            elif is_quiet:
                continue
            elif verb == "echo":
                self.say(rest)
            elif verb == "long":
                self.say("x" * int(rest))
            elif verb == "count":
                for number in range(int(rest)):
                    self.say(str(number))
            elif verb == "bye":
                return

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Talk)
print("ports", server.server_address[1], flush=True)
server.serve_forever()
