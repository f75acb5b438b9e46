"""Receives notifications over HTTP: checks who sent each of them, and acts on it once."""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"]
PORT = int(os.environ.get("PORT", "0"))
PREFIX = "whsec_"
KEY = base64.b64decode(SECRET[len(PREFIX) :]) if SECRET.startswith(PREFIX) else SECRET.encode()
# Seconds for which a request is good: one that was caught on its way cannot be played again later.
TOLERANCE = 300
LONGEST = 1024 * 1024
# Ids of earlier notifications. A real receiver stores them together with the effect, in one transaction.
seen = set()


def is_genuine(headers, body):
    """True if the sender knows the secret, and has sent this just now."""
    message, seconds = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not seconds.isdecimal() or abs(time.time() - int(seconds)) > TOLERANCE:
        return False
    # The body as it came, byte for byte: read as JSON and written again it would be another.
    signed = f"{message}.{seconds}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256))
    # There are several while the secret changes.
    given = headers.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(expected, one) for one in given)


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self):
        length = int(self.headers.get("content-length", "0"))
        if length > LONGEST:
            return self.answer(413)
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body):
            return self.answer(401)
        message = self.headers["webhook-id"]
        if message not in seen:
            # Here is what the receiver does about it.
            print(json.dumps(json.loads(body)), flush=True)
            seen.add(message)
        # Only now: a notification that was not taken comes again, under the same id.
        return self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        if status == 413:
            self.close_connection = True
        self.end_headers()

    def log_message(self, *words):
        """Says nothing of each request."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
    print(f"http://127.0.0.1:{server.server_port}/orders", flush=True)
    server.serve_forever()
