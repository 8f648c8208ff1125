"""Receives webhooks, with the Python standard library alone.

    WEBHOOK_SECRET=whsec_… python3 examples/receiver.py

Every event is committed to a SQLite database before it is acknowledged, and each one once, however often it
is delivered. Settings: WEBHOOK_SECRET (after a rotation two, separated by a comma), PORT (3000), INBOX
(events.db). Webhooks go to https addresses on port 443: put a TLS proxy in front of it, or, on your own
machine, let `webhook listen --forward-to http://127.0.0.1:3000/` pass them on.
"""

import contextlib
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = [secret for secret in os.environ.get("WEBHOOK_SECRET", "").split(",") if secret]
TOLERANCE = 300  # seconds
LARGEST_BODY = 64 * 1024

INBOX = os.environ.get("INBOX", "events.db")


def open_inbox() -> sqlite3.Connection:
    inbox = sqlite3.connect(INBOX)
    inbox.execute("PRAGMA synchronous = FULL")
    inbox.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT, card TEXT, body TEXT)")
    return inbox


def verify(header: str, body: bytes) -> bool:
    """Whether `t=<unix seconds>,v1=<hex>` signs these bytes with one of our secrets, and did so just now."""
    fields = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in fields if name == "t"]
    signatures = [value for name, _, value in fields if name == "v1"]
    if len(times) != 1 or not times[0].isascii() or not times[0].isdigit():
        return False
    expected = [
        hmac.new(secret.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
        for secret in SECRETS
    ]
    matches = [hmac.compare_digest(a.encode(), b.encode()) for a in signatures for b in expected]
    return any(matches) and abs(time.time() - int(times[0])) <= TOLERANCE


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            self.close_connection = True
            return self.reply(413)
        body = self.rfile.read(int(length))
        if not verify(self.headers.get("service-signature", ""), body):
            return self.reply(400)
        event = json.loads(body)
        # Acknowledge as soon as the event is safe; do what it asks for afterwards, from the table.
        row = (event["id"], event["type"], event["data"]["card"], body.decode())
        with contextlib.closing(open_inbox()) as inbox, inbox:
            inbox.execute("INSERT INTO events VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
        self.reply(204)

    def reply(self, status: int) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", "0")
        self.end_headers()


if __name__ == "__main__":
    if not SECRETS:
        print("Set WEBHOOK_SECRET to the signing secret of your endpoint.", file=sys.stderr)
        sys.exit(64)
    open_inbox().close()
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
