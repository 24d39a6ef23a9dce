"""A server with what ngircd lacks: SASL, accounts, message ids, times and history, for one client at a time.

Prints "ports PORT", and each line that the client sends. On standard input: "say LINE" sends a line, "keep LINE" puts it into the
history that CHATHISTORY gives, "mute" lets it answer no PING any more, "drop" ends the connection. Usage: modern.py [--tls FOLDER], with server.pem and server.key in it.
"""

import base64
import os
import signal
import socket
import ssl
import sys
import threading

CAPABILITIES = "message-tags server-time account-tag account-notify batch draft/chathistory sasl=PLAIN,EXTERNAL multi-prefix"
listener = socket.create_server(("127.0.0.1", 0))
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("ports", listener.getsockname()[1], flush=True)
tls = None
if "--tls" in sys.argv:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[2] + "/server.pem", sys.argv[2] + "/server.key")
current, is_mute = None, False
history = []


def send(line):
    if current:
        current.sendall(line.encode() + b"\r\n")


def serve(connection):
    nick, is_ready, is_waiting = "*", False, False
    for raw in connection.makefile("rb"):
        line = raw.rstrip(b"\r\n").decode()
        print(line, flush=True)
        command, _, rest = line.partition(" ")
        if command == "CAP" and rest.startswith("LS"):
            is_waiting = True
            names = CAPABILITIES.split(" ")
            send("CAP * LS * :" + " ".join(names[:3]))
            send("CAP * LS :" + " ".join(names[3:]))
        elif command == "CAP" and rest.startswith("REQ"):
            send("CAP * ACK " + rest[4:])
        elif command == "AUTHENTICATE" and rest == "PLAIN":
            send("AUTHENTICATE +")
        elif command == "AUTHENTICATE":
            is_right = base64.b64decode(rest).split(b"\0")[1:] == [b"pibot", b"secret"]
            send(f":modern.test {'903' if is_right else '904'} * :SASL {'done' if is_right else 'authentication failed'}")
        elif command == "CAP" and rest == "END":
            is_waiting = False
        elif command == "NICK":
            nick = rest
        elif command == "PING" and not is_mute:
            send(f":modern.test PONG modern.test {rest}")
        elif command == "JOIN":
            send(f":{nick}!~pi@bot.test JOIN {rest}")
        elif command == "CHATHISTORY":
            _, target, after, _ = rest.split(" ")
            mark = after.removeprefix("timestamp=")
            send(f":modern.test BATCH +b1 chathistory {target}")
            for kept in history:
                if kept.split("time=")[1].split(";")[0].split(" ")[0] > mark:
                    send("@batch=b1;" + kept.removeprefix("@"))
            send(":modern.test BATCH -b1")
        elif command == "QUIT":
            break
        if not is_ready and not is_waiting and nick != "*" and command in ("USER", "CAP"):
            is_ready = True
            send(f":modern.test 001 {nick} :Welcome")
            send(f":modern.test 005 {nick} CASEMAPPING=rfc1459 :are supported")
            send(f":modern.test 422 {nick} :no MOTD")
    connection.close()


def accept():
    global current, is_mute
    while True:
        connection, _ = listener.accept()
        if tls:
            try:
                connection = tls.wrap_socket(connection, server_side=True)
            except OSError:
                continue
        current, is_mute = connection, False
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()
for typed in sys.stdin:
    verb, _, rest = typed.rstrip("\n").partition(" ")
    if verb == "say":
        send(rest)
    elif verb == "keep":
        history.append(rest)
    elif verb == "mute":
        is_mute = True
        print("mute", flush=True)
    elif verb == "drop" and current:
        current.shutdown(socket.SHUT_RDWR)
os._exit(0)
