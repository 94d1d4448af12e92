#!/usr/bin/env python3
"""Run as `.tools/venv/bin/python tests/conformance/verify.py` (`make setup` makes the venv); JSON lines in, JSON lines out.

In:  {"secret": "whsec_…", "headers": {"webhook-id": "…", "webhook-timestamp": "…", "webhook-signature": "…"},
      "body_base64": "…"}
Out: {"ok": true} or {"ok": false, "error": "…"}, one line per line read, in order, flushed at once.

The Standard Webhooks headers are verified by the standardwebhooks library, as a receiver would; it accepts timestamps
within five minutes of now and bodies in UTF-8. An `x-observatory-signature` header is verified as well if there is one:
`sha256=<hex>`, HMAC-SHA256 of the body keyed with the whole secret string.
"""

import base64
import hashlib
import hmac
import json
import sys

from standardwebhooks import Webhook


def verify(message):
    secret = message["secret"]
    headers = {name.lower(): value for name, value in message["headers"].items()}
    body = base64.b64decode(message["body_base64"], validate=True)

    Webhook(secret).verify(body, headers, json_parse=False)

    given = headers.get("x-observatory-signature")
    if given is not None:
        digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(given.encode(), f"sha256={digest}".encode()):
            raise ValueError("x-observatory-signature does not match")


def answer(line):
    # Whatever goes wrong is an answer: a caller that gets one line per line never waits for a dead process.
    try:
        verify(json.loads(line))
    except Exception as error:
        return {"ok": False, "error": str(error) or type(error).__name__}
    return {"ok": True}


for line in sys.stdin:
    if line.strip():
        print(json.dumps(answer(line)), flush=True)
