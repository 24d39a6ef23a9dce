"""A web server on loopback that tells what it was asked. Prints its port; ends with its standard input."""
import http.server
import json
import sys
import threading


arrived = []


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while (size := int(self.rfile.readline(), 16)) > 0:
                body += self.rfile.read(size)
                self.rfile.readline()
        name, _, value = self.path.strip("/").partition("=")
        arrived.append(name)
        if name == "hangup":
            self.close_connection = True
            return
        if name == "silence":
            threading.Event().wait()
        text = json.dumps({"method": self.command, "path": self.path, "body": body.decode("latin-1"),
                           "headers": {key.lower(): value for key, value in self.headers.items()}}).encode()
        if name == "count":
            text = str(arrived.count(value)).encode()
        if name == "large":
            text = b"x" * int(value)
        self.send_response(int(value) if name == "status" else 200)
        self.send_header("X-Test", "first")
        self.send_header("X-Reset-After", " 1.5 ")
        if name == "status" and value == "204":
            # Has no body, and would leave one to be taken for the next answer.
            self.end_headers()
            return
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print("ports", server.server_address[1], flush=True)
sys.stdin.read()
