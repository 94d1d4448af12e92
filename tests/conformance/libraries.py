#!/usr/bin/env python3
"""Run as `.tools/venv/bin/python tests/conformance/libraries.py` (`make setup` creates the venv); JSON lines in, JSON
lines out: the providers' own libraries sign and verify requests.

In:  {"do": "sign" | "verify", "library": "stripe", "secret": "…", "url": "https://…", "content_type": "…", "body": "…",
      "id": "…" and "at": seconds since 1970, to sign; "headers": {"…": "…"}, to verify}
Out: {"ok": true, "headers": {…}, "url": "…"} for what was signed, {"ok": true} for what is genuine,
     {"ok": false, "error": "…"} for what is not; one line per line read, in order, flushed at once.

Each library is imported on first use, because some take a second.
"""

import functools
import hashlib
import hmac
import json
import sys
from datetime import datetime, timezone
from urllib.parse import parse_qsl

FORM = "application/x-www-form-urlencoded"


def require(is_genuine):
    if not is_genuine:
        raise ValueError("the library does not take it for genuine")


class Stripe:
    def __init__(self):
        import stripe

        self.stripe = stripe

    def sign(self, asked):
        header = self.stripe.WebhookSignature.generate_signature_header(asked["body"], asked["secret"], asked["at"])
        return {"stripe-signature": header}

    def verify(self, asked):
        event = self.stripe.Webhook.construct_event(asked["body"], asked["headers"]["stripe-signature"], asked["secret"])
        require(event.type)


class Slack:
    def __init__(self):
        from slack_sdk.signature import SignatureVerifier

        self.verifier = SignatureVerifier

    def sign(self, asked):
        at = str(asked["at"])
        signature = self.verifier(asked["secret"]).generate_signature(timestamp=at, body=asked["body"])
        return {"x-slack-signature": signature, "x-slack-request-timestamp": at}

    def verify(self, asked):
        require(self.verifier(asked["secret"]).is_valid_request(asked["body"], asked["headers"]))


class Fields(dict):
    """A form in which a name may occur more than once, as Twilio's library expects it."""

    @classmethod
    def of(cls, form):
        fields = cls()
        for name, value in parse_qsl(form, keep_blank_values=True):
            fields.setdefault(name, []).append(value)
        return fields

    def getlist(self, name):
        return self[name]


class Twilio:
    def __init__(self):
        from twilio.request_validator import RequestValidator

        self.validator = RequestValidator

    def sign(self, asked):
        validator = self.validator(asked["secret"])
        if asked["content_type"] == FORM:
            return {"x-twilio-signature": validator.compute_signature(asked["url"], Fields.of(asked["body"]))}
        mark = "&" if "?" in asked["url"] else "?"
        asked["url"] += f"{mark}bodySHA256={validator.compute_hash(asked['body'])}"
        return {"x-twilio-signature": validator.compute_signature(asked["url"], {})}

    def verify(self, asked):
        body = Fields.of(asked["body"]) if asked["content_type"] == FORM else asked["body"]
        signature = asked["headers"]["x-twilio-signature"]
        require(self.validator(asked["secret"]).validate(asked["url"], body, signature))


class StandardWebhooks:
    prefix = "webhook"

    def __init__(self):
        from standardwebhooks import Webhook

        self.library = Webhook

    def sign(self, asked):
        at = datetime.fromtimestamp(asked["at"], tz=timezone.utc)
        signature = self.library(asked["secret"]).sign(asked["id"], at, asked["body"])
        values = {"id": asked["id"], "timestamp": str(asked["at"]), "signature": signature}
        return {f"{self.prefix}-{name}": value for name, value in values.items()}

    def verify(self, asked):
        self.library(asked["secret"]).verify(asked["body"].encode(), asked["headers"], json_parse=False)


class Svix(StandardWebhooks):
    prefix = "svix"

    def __init__(self):
        from svix.webhooks import Webhook

        self.library = Webhook

    def verify(self, asked):
        self.library(asked["secret"]).verify(asked["body"].encode(), asked["headers"])


class Plain:
    """Without a library: `sha256=<hex>` over the body, keyed with the whole secret, as the README says."""

    def verify(self, asked):
        digest = hmac.new(asked["secret"].encode(), asked["body"].encode(), hashlib.sha256).hexdigest()
        require(hmac.compare_digest(asked["headers"]["x-observatory-signature"], f"sha256={digest}"))


LIBRARIES = {
    "plain": Plain,
    "slack_sdk": Slack,
    "standardwebhooks": StandardWebhooks,
    "stripe": Stripe,
    "svix": Svix,
    "twilio": Twilio,
}


@functools.cache
def library(name):
    return LIBRARIES[name]()


def answer(line):
    # Every error is answered: a caller that gets one line per line never waits for a dead process.
    try:
        asked = json.loads(line)
        if asked["do"] == "sign":
            headers = library(asked["library"]).sign(asked)
            return {"ok": True, "headers": headers, "url": asked["url"]}
        library(asked["library"]).verify(asked)
    except Exception as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    return {"ok": True}


for line in sys.stdin:
    if line.strip():
        print(json.dumps(answer(line)), flush=True)
