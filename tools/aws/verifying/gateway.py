"""The API of the stack, and a webhook whose receiver is the stack itself."""

import base64
import json
import os
import urllib.error
import urllib.request
from contextlib import contextmanager

PAGE = 100
TIMEOUT_S = 35


class Gateway:
    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token

    def call(self, method, path, body=None):
        """The status of the response and its JSON."""
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"authorization": f"Bearer {self.token}", "content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                status, text = response.status, response.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        return status, json.loads(text) if text else None

    def create(self, kind, settings):
        status, made = self.call("POST", f"/v1/{kind}", settings)
        if status != 201:
            raise RuntimeError(f"POST /v1/{kind} was answered with {status}: {made}")
        return made

    @contextmanager
    def looped_webhook(self):
        """A webhook that sends to a source of the same gateway: its receiver is public and verifies the signature."""
        secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        source = self.create("sources", {"name": "verify", "scheme": "postrider", "secret": secret})
        try:
            with self.webhook({"target_url": self.url + source["url"], "secret": secret}) as webhook:
                yield webhook
        finally:
            self.call("DELETE", f"/v1/sources/{source['id']}")

    @contextmanager
    def webhook(self, settings):
        # No event has this type: it gets only those that name it.
        made = self.create("webhooks", {"name": "verify", "event_types": ["postrider.verify.none"], **settings})
        try:
            yield made["id"]
        finally:
            self.call("DELETE", f"/v1/webhooks/{made['id']}")

    def publish(self, webhook, count):
        """The ids of as many deliveries, published in batches."""
        ids = []
        for first in range(0, count, PAGE):
            events = [
                {"type": "postrider.verify", "payload": {"n": n}, "webhook_id": webhook}
                for n in range(first, min(first + PAGE, count))
            ]
            status, answer = self.call("POST", "/v1/events", {"events": events})
            results = answer.get("results", []) if status == 202 else []
            if len(results) != len(events) or not all("deliveries" in result for result in results):
                raise RuntimeError(f"POST /v1/events was answered with {status}: {str(answer)[:300]}")
            ids += [result["deliveries"][0]["id"] for result in results]
        return ids

    def deliveries(self, webhook):
        rows, cursor = [], ""
        while cursor is not None:
            query = f"&cursor={cursor}" if cursor else ""
            _, page = self.call("GET", f"/v1/deliveries?limit={PAGE}&webhook_id={webhook}{query}")
            rows += page["items"]
            cursor = page["next_cursor"]
        return rows

    def settled(self, webhook, count):
        """The deliveries of a webhook, once as many are delivered or dead; else None."""
        rows = self.deliveries(webhook)
        return rows if sum(row["status"] in ("delivered", "dead") for row in rows) >= count else None
