"""A messenger with any number of conversations, as the benchmark drives it: the host of peers/crowd.py."""
import json
import socket

# Agents that may start at once.
STARTING = 16


class Crowd:
    """The messenger of a home whose agents are demo agents."""

    def __init__(self, home, maximum):
        self.path = home.path + "/crowd.sock"
        self.patience = home.bench.amount(240, 20)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.listener.settimeout(120)
        home.add_plugin("Benchmarks/peers/crowd.py", "crowd.py")
        home.configure(f"pi: {{executable: {home.bench.demo_agent}}}\n"
                       f"sessions: {{directory: {home.path}, maximum: {maximum}, maximumStarting: {STARTING}, "
                       "idleTimeoutMinutes: 0}\n"
                       f"crowd: {{auth: {{everyone: true}}, socket: {self.path}}}\n")

    def connected(self):
        """Waits until the messenger has been initialised."""
        self.connection, _ = self.listener.accept()
        self.connection.settimeout(self.patience)
        self.lines = self.connection.makefile()

    def tell(self, text, conversations, gap=0.0):
        """What became of the text in each conversation: when it was said and when its whole answer was visible."""
        order = {"text": text, "conversations": conversations, "gap": gap}
        self.connection.sendall(json.dumps(order).encode() + b"\n")
        ends = [json.loads(self.lines.readline()) for _ in conversations]
        for end in ends:
            if end["end"] != "answered" or end["shown"] is None:
                raise SystemExit(f"{text!r} was not answered: {end}")
        return ends

    def disconnect(self):
        self.lines.close()
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
