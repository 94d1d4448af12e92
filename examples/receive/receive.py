"""Receives webhooks and verifies their signatures. Needs: pip install standardwebhooks"""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        # The signature covers the exact bytes, so verify before anything parses them.
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            payload = webhook.verify(body, dict(self.headers))
        except (WebhookVerificationError, ValueError):
            return self.answer(401)
        # The id is the same for every attempt: remember it to drop duplicates.
        print(self.headers["webhook-id"], self.headers["X-Webhook-Event"], payload, flush=True)
        self.answer(204)

    def answer(self, status):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        """Stays quiet: only verified webhooks are printed."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9001"))), Receiver)
print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
