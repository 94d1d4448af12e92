"""What schemathesis changes in a request before it sends it, and which answers it accepts."""

import json
import os
import re
import unicodedata
from datetime import datetime, timedelta
from urllib.parse import unquote

import jsonschema_rs
import schemathesis

# What the gateway has: the id of the key in use, of a webhook, and path parameters by operation.
STORED = json.loads(os.environ["SCHEMA_STORED"])
# Without its own key, every later request would only be rejected; the others are named by later requests.
NEEDED = {STORED["key"], STORED["webhook"], *(named["id"] for named in STORED["parameters"].values())}
# A URL parser reads a host as an address if it looks like a number. Backslashes count as slashes.
ADDRESS = re.compile(r"\s*https?:[/\\]*(?:[^/\\?#]*@)?[\[\]0-9a-fx.:]+(?=[/\\?#]|$)", re.IGNORECASE)
# Replaces the whole host where names could resolve; no name below `.example` does.
HOST = ADDRESS if os.environ["SCHEMA_NAMES"] == "Any" else re.compile(r"\s*https?:[/\\]*[^/\\?#]*", re.IGNORECASE)
# An emulator takes longer than a function may for a hundred events, each of which goes to all generated webhooks.
LARGEST_BATCH = 100 if os.environ["SCHEMA_NAMES"] == "Any" else 5
# Operations whose `filter` is an event pattern. The document does not describe that language, so a request gets this one.
FILTERED = {"POST /v1/webhooks", "PATCH /v1/webhooks/{id}", "POST /v1/filters/test"}
FILTER = {"status": ["open", {"prefix": "re"}]}
# The same for templates, which fit any payload.
TEMPLATED = {"POST /v1/webhooks", "PATCH /v1/webhooks/{id}", "POST /v1/templates/test"}
TEMPLATE = {"body": "{\"type\": {{ event.type }}, \"payload\": {{ payload }}}", "query": "id={{ event.id }}"}
# Fields for which a valid request may be rejected, by operation.
REJECTED = {
    # The longest window depends on how many webhooks are stored.
    "GET /metrics": {"window"},
    "GET /v1/stats": {"window"},
    # A document cannot say which cursors exist.
    "POST /v1/export": {"cursor"},
    # The URL may not be that of the stored webhook.
    "POST /v1/deliveries/{id}/shadow": {"url"},
    "POST /v1/portal-links": {"return_url"},
    # A public key must be a point on its curve, which takes arithmetic; other secrets have the form that `key` names.
    "POST /v1/sources": {"secret"},
    # What a secret must look like depends on the scheme of the stored source.
    "POST /v1/sources/{id}/rotate-secret": {"secret"},
    # Which fields a source may have, and what its stored secret must look like, depends on its stored scheme.
    "PATCH /v1/sources/{id}": {"custom", "public_url", "secret", "verify_token"},
}


@schemathesis.hook
def before_call(context, case, kwargs):
    label = case.operation.label
    if case.method == "DELETE" and case.path_parameters.get("id") in NEEDED:
        case.path_parameters["id"] = "unknown"
    body = without_addresses(case.body)
    if case.meta.generation.mode.is_positive:
        body = with_routes(body)
        if label in FILTERED and body.get("filter"):
            body = {**body, "filter": FILTER}
        if label in TEMPLATED and body.get("template"):
            body = {**body, "template": TEMPLATE}
        if label == "POST /v1/events" and isinstance(body.get("events"), list):
            body = {**body, "events": body["events"][:LARGEST_BATCH]}
        if label == "PUT /v1/event-types/{name}" and body.get("schema"):
            body = {**body, "schema": {"type": "object"}}
        case.path_parameters.update(STORED["parameters"].get(label, {}))
        # A document cannot say which cursors exist. OpenAPI describes each parameter alone, not what two mean together.
        if label in ("GET /v1/deliveries", "GET /v1/tenants"):
            case.query.pop("cursor", None)
        if label.endswith("/usage"):
            case.query.pop("from", None)
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
        # Not the host of the stored webhook: a shadow request may not go there.
        return HOST.sub("https://another.example", plain) if HOST.match(plain) else value
    return value


def with_routes(body):
    """The body with routes to a webhook that exists, and with valid filters."""
    if not isinstance(body, dict) or not body.get("routes"):
        return body
    routes = [{**route, "webhook_id": STORED["webhook"]} for route in body["routes"]]
    routes = [{**route, "filter": FILTER} if route.get("filter") else route for route in routes]
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
    label = case.operation.label
    if case.meta.generation.mode.is_positive:
        if response.status_code != 400:
            return True
        fields = {error["field"] for error in response.json()["errors"]}
        return not fields or not fields <= REJECTED.get(label, set())
    # Each event of a batch is accepted or rejected on its own; a schema describes the request as a whole.
    if label == "POST /v1/events" and response.status_code == 202:
        results = response.json().get("results", [])
        return not any(result.get("code") == "invalid_request" for result in results)
    return not breaks_only_uri(case)


def breaks_only_uri(case):
    """URLs are read as browsers read them, which accept more than the format; no format describes that."""
    document = case.operation.schema.raw_schema
    operation = document["paths"][case.operation.path][case.operation.method]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is None:
        return False
    schema = {**body["schema"], "components": document["components"]}
    return not is_valid(schema, case.body) and is_valid(without_uri(schema), case.body)


def is_valid(schema, body):
    try:
        return jsonschema_rs.Draft202012Validator(schema, validate_formats=True).is_valid(body)
    except ValueError:
        # The body is not JSON.
        return False


def without_uri(value):
    """The schema without the format `uri`."""
    if isinstance(value, dict):
        return {name: without_uri(inner) for name, inner in value.items() if (name, inner) != ("format", "uri")}
    if isinstance(value, list):
        return [without_uri(inner) for inner in value]
    return value
