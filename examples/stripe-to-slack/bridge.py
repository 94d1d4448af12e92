"""Turns Stripe events into Slack messages. Needs: pip install standardwebhooks

Postrider verifies what Stripe sends and delivers it here. The bridge writes the text and publishes it to the webhook that
points to Slack, so Postrider also retries when Slack is down or asks to slow down.
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError
from urllib.request import Request, urlopen

from standardwebhooks import Webhook, WebhookVerificationError

GATEWAY, TOKEN = os.environ["POSTRIDER_URL"], os.environ["POSTRIDER_TOKEN"]
SLACK_WEBHOOK = os.environ["SLACK_WEBHOOK"]  # wh_…, whose target is https://hooks.slack.com/services/…
webhook = Webhook(os.environ["WEBHOOK_SECRET"])


def text(event):
    invoice = event["data"]["object"]
    amount = f"{invoice.get('amount_paid', 0) / 100:.2f} {invoice.get('currency', '').upper()}"
    return f"Invoice {invoice['id']} was paid: {amount}"


def publish(event, key):
    message = {"type": "slack.message", "webhook_id": SLACK_WEBHOOK, "payload": {"text": text(event)}}
    # The key makes a repeated delivery harmless: Slack gets one message.
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json", "Idempotency-Key": key}
    urlopen(Request(f"{GATEWAY}/v1/events", json.dumps(message).encode(), headers)).close()


class Bridge(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            publish(webhook.verify(body, dict(self.headers)), self.headers["webhook-id"])
            status = 204
        except (WebhookVerificationError, ValueError):
            status = 401
        except (URLError, KeyError):
            status = 500  # Postrider tries again.
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        """Stays quiet: the gateway records every attempt."""


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9001"))), Bridge)
print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
