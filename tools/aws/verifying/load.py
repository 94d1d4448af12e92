"""Deliveries over the internet, at once, and how the functions start."""

import json
from datetime import datetime, timedelta

from .account import now
from .check import failed, passed, skipped, wait_until

EVENTS = 300
# A delivery to the gateway itself is also an inbound event.
DOLLARS_PER_EVENT = 40e-6
NEW_TABLE_WRITES = 4000
SLOWEST_INIT_MS = 250


def burst(stack, gateway):
    since, spent = now(), EVENTS * DOLLARS_PER_EVENT
    with gateway.looped_webhook() as webhook:
        gateway.publish(webhook, EVENTS)
        rows = wait_until(lambda: gateway.settled(webhook, EVENTS), 300)
    if rows is None:
        return failed(f"not all of {EVENTS} deliveries were delivered within 5 minutes", spent)
    late = sorted(age(row) for row in rows)
    again = [row for row in rows if row["status"] != "delivered" or row["attempt_count"] != 1]
    throttled = stack.account.metric_sum("AWS/DynamoDB", "WriteThrottleEvents", since, TableName=stack.outputs["DeliveriesTable"])
    cold = cold_indexes(stack)
    said = f"{len(rows)} deliveries, half within {late[len(late) // 2]:.1f} s, the last after {late[-1]:.1f} s"
    wrong = [f"{len(again)} were not delivered at the first attempt"] * bool(again)
    wrong += [f"{throttled:.0f} writes were throttled"] * bool(throttled)
    wrong += [f"less than {NEW_TABLE_WRITES} write units per second: {', '.join(cold)}"] * bool(cold)
    return failed("; ".join([said, *wrong]), spent) if wrong else passed(f"{said}; table and indexes are warm", spent)


def age(row):
    first, last = (datetime.fromisoformat(row[name].replace("Z", "+00:00")) for name in ("created_at", "last_attempted_at"))
    return (last - first).total_seconds()


def cold_indexes(stack):
    """Table and indexes that can take less than a new table should."""
    table = stack.account.call("dynamodb", "describe-table", TableName=stack.outputs["DeliveriesTable"])["Table"]
    parts = [("table", table)] + [(it["IndexName"], it) for it in table["GlobalSecondaryIndexes"]]
    return [name for name, part in parts if part.get("WarmThroughput", {}).get("WriteUnitsPerSecond", 0) < NEW_TABLE_WRITES]


def cold_start(stack, _gateway):
    if stack.parameters.get("SystemLogLevel") == "WARN":
        return skipped("Lambda does not log how long a start takes: deploy with SystemLogLevel=INFO")
    since = int((now() - timedelta(days=1)).timestamp() * 1000)
    slowest = {}
    for logical, group in stack.resources.items():
        if not logical.endswith("Logs") or logical == "HttpLogs":
            continue
        events = stack.account.call(
            "logs", "filter-log-events", logGroupName=group, startTime=since,
            filterPattern='{ $.type = "platform.report" && $.record.metrics.initDurationMs > 0 }',
        )["events"]
        starts = [init_ms(event["message"]) for event in events]
        if starts:
            slowest[logical.removesuffix("Logs").lower()] = max(starts)
    if not slowest:
        return skipped("no function has started in the last 24 hours; run the other checks first")
    said = ", ".join(f"{name} {ms:.0f} ms" for name, ms in sorted(slowest.items()))
    return failed(f"slower than {SLOWEST_INIT_MS} ms: {said}") if max(slowest.values()) > SLOWEST_INIT_MS else passed(f"slowest starts: {said}")


def init_ms(message):
    return float(json.loads(message)["record"]["metrics"]["initDurationMs"])
