"""What schemathesis changes in a request before it sends it, and which answers it accepts."""

import json
import os
import re
import unicodedata
from datetime import datetime, timedelta
from urllib.parse import unquote

import schemathesis

# What the gateway has: the id of the key in use, of a webhook, and path parameters by operation.
STORED = json.loads(os.environ["SCHEMA_STORED"])
# A URL parser reads a host as an address if it looks like a number. Backslashes count as slashes.
ADDRESS = re.compile(r"\s*https?:[/\\]*(?:[^/\\?#]*@)?[\[\]0-9a-fx.:]+(?=[/\\?#]|$)", re.IGNORECASE)
# Why a valid request may be rejected: because of stored data, or because of fields that depend on each other in ways that
# a schema cannot say.
RELATIONS = [
    re.compile(message)
    for message in (
        "for [0-9]+ webhooks",
        "the webhook's own URL",
        "must be set only for the scheme",
        "must be set, because the scheme signs the URL",
        "does not fit the scheme",
        "an unsigned timestamp can be forged",
        r"because \{timestamp\} is signed",
        r"must be set if \{id\} is signed",
        "must be `hex`, `base64` or `whpk` for `ed25519`",
        "a token does not sign anything",
    )
]


@schemathesis.hook
def before_call(context, case, kwargs):
    label = case.operation.label
    # Without its own key, every later request would only be rejected.
    if case.method == "DELETE" and case.path_parameters.get("id") in (STORED["key"], STORED["webhook"]):
        case.path_parameters["id"] = "unknown"
    body = without_addresses(case.body)
    if case.meta.generation.mode.is_positive:
        body = with_routes(body)
        case.path_parameters.update(STORED["parameters"].get(label, {}))
        # What a document cannot say: which cursors exist, and what parameters mean for each other.
        if label == "GET /v1/deliveries":
            case.query.pop("cursor", None)
        if label == "GET /v1/stats":
            one_window(case.query)
    # Even the same body makes schemathesis judge the request again.
    if body != case.body:
        case.body = body


def without_addresses(value):
    """The body with names instead of addresses in URLs: names do not resolve, public addresses could be reached."""
    if isinstance(value, dict):
        return {name: without_addresses(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_addresses(inner) for inner in value]
    if isinstance(value, str):
        plain = unicodedata.normalize("NFKC", unquote(value))
        return ADDRESS.sub("https://receiver.example", plain) if ADDRESS.match(plain) else value
    return value


def with_routes(body):
    """The body with routes to a webhook that exists."""
    if not isinstance(body, dict) or not body.get("routes"):
        return body
    routes = [{**route, "webhook_id": STORED["webhook"]} for route in body["routes"]]
    return {**body, "routes": routes}


def one_window(query):
    """Either `window` or `from`, which is at most 31 days before `to`."""
    if query.pop("from", None) is None or "to" not in query:
        return
    query.pop("window", None)
    query["from"] = (datetime.fromisoformat(query["to"]) - timedelta(days=1)).isoformat()


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Whether this is a failure."""
    positive = case.meta.generation.mode.is_positive
    if positive and response.status_code == 400:
        messages = [error["message"] for error in response.json()["errors"]]
        return not all(any(known.search(message) for known in RELATIONS) for message in messages)
    # Each event of a batch is accepted or rejected on its own.
    if not positive and case.operation.label == "POST /v1/events" and response.status_code == 202:
        results = response.json().get("results", [])
        return not any(result.get("code") == "invalid_request" for result in results)
    # URLs are read as browsers read them, who accept more than the format allows.
    return "'uri' format" not in failure.message
