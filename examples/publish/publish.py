"""Publishes an event. A repeated call with the same Idempotency-Key stores nothing new."""

import json
import os
from urllib.request import Request, urlopen

event = {"type": "order.paid", "payload": {"order": 2}}
headers = {
    "Authorization": f"Bearer {os.environ['POSTRIDER_TOKEN']}",
    "Content-Type": "application/json",
    "Idempotency-Key": "order-2",
}
with urlopen(Request(f"{os.environ['POSTRIDER_URL']}/v1/events", json.dumps(event).encode(), headers)) as response:
    print(response.read().decode())
