"""The tables over time: expiry and restore."""

import time
from datetime import datetime, timezone

from .account import now
from .check import failed, passed, skipped, wait_until

MARKERS = "#verify"
TWO_DAYS_S = 2 * 24 * 3600
DOLLARS_PER_GB, LARGEST_GB = 0.15, 10
RESTORE_S = 4 * 3600
# The tenant of the first API key.
TENANT = "default"


def ttl(stack, _gateway):
    """Takes two runs: the first stores an item that has expired, a later one sees that it is gone."""
    account, table = stack.account, stack.outputs["DeliveriesTable"]
    setting = account.call("dynamodb", "describe-time-to-live", TableName=table)["TimeToLiveDescription"]
    if (setting.get("TimeToLiveStatus"), setting.get("AttributeName")) != ("ENABLED", "expires_at"):
        return failed(f"time to live is {setting}")
    stored, expired = (
        account.call("dynamodb", "get-item", TableName=table, Key=marker(sort), ConsistentRead=True).get("Item")
        for sort in ("stored", "expired")
    )
    moment = int(time.time())
    if stored is None:
        account.call("dynamodb", "put-item", TableName=table, Item=marker("expired") | {"expires_at": {"N": str(moment - 60)}})
        account.call("dynamodb", "put-item", TableName=table, Item=marker("stored") | {"at": {"N": str(moment)}})
        return skipped("stored an expired item; run --only ttl again in two days")
    age = moment - int(stored["at"]["N"])
    if expired is None:
        account.call("dynamodb", "delete-item", TableName=table, Key=marker("stored"))
        return passed(f"an expired item was deleted within {age / 3600:.1f} h")
    if age > TWO_DAYS_S:
        return failed(f"an item that expired {age / 3600:.0f} h ago still exists")
    return skipped(f"the item expired {age / 3600:.1f} h ago and still exists; DynamoDB takes up to two days")


def marker(sort):
    return {"pk": {"S": MARKERS}, "sk": {"S": sort}}


def restore(stack, gateway):
    account, table = stack.account, stack.outputs["DeliveriesTable"]
    described = account.call("dynamodb", "describe-table", TableName=table)["Table"]
    gigabytes = described["TableSizeBytes"] / 1e9
    spent = gigabytes * DOLLARS_PER_GB
    if gigabytes > LARGEST_GB:
        return skipped(f"the table has {gigabytes:.0f} GB, and restoring it costs ${spent:.2f}; use a smaller stack")
    with gateway.looped_webhook() as webhook:
        gateway.publish(webhook, 1)
        wait_until(lambda: gateway.settled(webhook, 1), 120)
        (row,) = gateway.deliveries(webhook)
    stored = now()
    if not wait_until(lambda: restorable(account, table) > stored, 1800, pause=30):
        return failed("after half an hour the table cannot be restored to the time of the last delivery")
    target, started = f"postrider-verify-{stored:%Y%m%dT%H%M%SZ}", time.monotonic()
    account.call("dynamodb", "restore-table-to-point-in-time", SourceTableName=table, TargetTableName=target, UseLatestRestorableTime=True)
    try:
        ready = wait_until(lambda: state(account, target)["TableStatus"] == "ACTIVE", RESTORE_S, pause=60)
        minutes = (time.monotonic() - started) / 60
        if not ready:
            return failed(f"the restored table is not active after {minutes:.0f} minutes", spent)
        key = {"pk": {"S": f"{TENANT}#{row['event_id']}"}, "sk": {"S": f"delivery#{row['webhook_id']}"}}
        if "Item" not in account.call("dynamodb", "get-item", TableName=target, Key=key):
            return failed(f"{row['id']} is not in the restored table", spent)
        indexes = len(state(account, target)["GlobalSecondaryIndexes"])
        if indexes != len(described["GlobalSecondaryIndexes"]):
            return failed(f"the restored table has {indexes} indexes", spent)
        return passed(f"restored with {indexes} indexes in {minutes:.0f} minutes", spent)
    finally:
        # A table cannot be deleted while it is being restored.
        wait_until(lambda: state(account, target)["TableStatus"] == "ACTIVE", RESTORE_S, pause=60)
        account.call("dynamodb", "delete-table", TableName=target)


def restorable(account, table):
    found = account.call("dynamodb", "describe-continuous-backups", TableName=table)["ContinuousBackupsDescription"]
    latest = found["PointInTimeRecoveryDescription"]["LatestRestorableDateTime"]
    return datetime.fromisoformat(latest) if isinstance(latest, str) else datetime.fromtimestamp(latest, timezone.utc)


def state(account, table):
    return account.call("dynamodb", "describe-table", TableName=table)["Table"]
