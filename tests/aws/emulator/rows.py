"""Gives IAM what DynamoDB tells it about the rows of a request: `LeadingKeys`, `Attributes` and `ReturnValues`. MiniStack
leaves out the first, and fills the second for reads only, so conditions on them would always hold."""

import json
import re

HASH_KEY = "pk"
TRANSACTED = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem", "Get": "GetItem"}
BATCHED = {"PutRequest": "Item", "DeleteRequest": "Key"}
EQUALITY = re.compile(r"(#?\w+)\s*=\s*(:\w+)")


def requests(operation, table, body):
    """The part of a request for each row of this table, as the operation that IAM checks sees it."""
    if "TransactItems" in body:
        parts = (part for item in body["TransactItems"] for part in item.items())
        return [one for kind, one in parts if TRANSACTED[kind] == operation and one["TableName"] == table]
    if "RequestItems" not in body:
        return [body]
    of_table = body["RequestItems"][table]
    if operation == "BatchGetItem":
        return [{**of_table, "Key": key} for key in of_table["Keys"]]
    return [{"Item": one[BATCHED[kind]]} for write in of_table for kind, one in write.items()]


def leading_key(request):
    row = request.get("Item") or request.get("Key")
    if row:
        return row[HASH_KEY]["S"]
    compared = EQUALITY.search(request.get("KeyConditionExpression", ""))
    return request["ExpressionAttributeValues"][compared[2]]["S"] if compared else None


def conditions(request):
    """The condition keys of one row. Every expression of ours names its attributes through placeholders."""
    named = request.get("ExpressionAttributeNames", {}).values()
    row = request.get("Item") or request.get("Key") or {}
    found = {
        "dynamodb:LeadingKeys": [key] if (key := leading_key(request)) else None,
        "dynamodb:Attributes": sorted({*row, *named}) or None,
        "dynamodb:ReturnValues": request.get("ReturnValues"),
    }
    return {key: value for key, value in found.items() if value is not None}


def enforced(module):
    """Changes MiniStack's evaluator: `enforce` is called once for each row."""
    enforce = module.enforce

    def enforce_rows(access_key, action, service, region, resource_arn="*", service_context=None):
        def check(more):
            return enforce(access_key, action, service, region, resource_arn, {**(service_context or {}), **more})

        signed = module._signed_request.get()
        if service != "dynamodb" or signed is None or ":table/" not in resource_arn:
            return check({})
        table = resource_arn.split(":table/")[1].split("/")[0]
        rows = requests(action.split(":")[1], table, json.loads(signed.body or b"{}"))
        return next(filter(None, (check(conditions(row)) for row in rows)), None)

    module.enforce = enforce_rows
