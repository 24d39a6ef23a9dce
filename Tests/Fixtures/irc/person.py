"""Somebody on IRC: usage person.py PORT NICK USER. Prints "ports PORT" once registered, then every line; sends its input's lines."""

import os
import signal
import socket
import sys
import threading

port, nick, user = int(sys.argv[1]), sys.argv[2], sys.argv[3]
connection = socket.create_connection(("127.0.0.1", port), 10)
connection.settimeout(None)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def send(line):
    connection.sendall(line.encode() + b"\r\n")


def read():
    for raw in connection.makefile("rb"):
        line = raw.rstrip(b"\r\n").decode()
        words = line.split(" ")
        if words[0] == "PING":
            send("PONG " + words[1])
        elif words[1] == "001":
            print("ports", port, flush=True)
        print(line, flush=True)
    os._exit(0)


send(f"NICK {nick}")
send(f"USER {user} 0 * :{user}")
threading.Thread(target=read, daemon=True).start()
for typed in sys.stdin:
    send(typed.rstrip("\n"))
os._exit(0)
