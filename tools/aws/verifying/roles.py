"""Roles and the key: IAM, DynamoDB and KMS refuse what the template does not allow."""

import json
import secrets
from contextlib import contextmanager

from .account import AwsError
from .check import failed, passed, wait_until

DENIED = {"AccessDeniedException", "AccessDenied"}
# The call was allowed, and its condition, which never holds, kept it from writing.
REACHED = "ConditionalCheckFailedException"


def item(key, **values):
    return {"pk": {"S": key}, "sk": {"S": "verify"}} | {name: {"S": value} for name, value in values.items()}


def put(table, key):
    return "dynamodb", "put-item", {"TableName": table, "Item": item(key), "ConditionExpression": "attribute_exists(pk)"}


def update(table, key, attribute, condition, **more):
    return "dynamodb", "update-item", {
        "TableName": table, "Key": item(key), "UpdateExpression": "SET #a = :v", "ConditionExpression": f"attribute_exists({condition})",
        "ExpressionAttributeNames": {"#a": attribute}, "ExpressionAttributeValues": {":v": {"S": "verify"}}, **more,
    }


def cases(stack):
    """Each role with what it may do and what it may not."""
    rows, key = stack.outputs["DeliveriesTable"], stack.key_arn()
    data_key = ("kms", "generate-data-key", {"KeyId": key, "KeySpec": "AES_256"})
    yield "ReceiverRole", [put(rows, "verify#evt_0"), update(rows, "verify#src_0", "minute", "pk")], [
        put(rows, "verify#wh_0"), update(rows, "verify#evt_0", "status", "pk"), data_key]
    yield "WatcherRole", [update(rows, "verify#evt_0", "lane", "lane")], [
        update(rows, "verify#wh_0", "lane", "lane"),
        update(rows, "verify#evt_0", "attempt_count", "lane"),
        update(rows, "verify#evt_0", "lane", "lane", ReturnValues="ALL_NEW"),
        put(rows, "verify#evt_0")]
    yield "NotifierRole", [update(rows, "verify#wh_0", "sent", "sent")], [
        update(rows, "verify#wh_0", "status", "sent"),
        ("dynamodb", "get-item", {"TableName": rows, "Key": item("verify#wh_0")}),
        data_key]
    yield "ApiRole", [data_key], [("dynamodb", "delete-table", {"TableName": "postrider-verify-no-such-table"})]


def outcome(account, call):
    service, operation, arguments = call
    try:
        account.call(service, operation, **arguments)
    except AwsError as error:
        return "denied" if error.code in DENIED else "allowed" if error.code == REACHED else error.code or str(error)
    return "allowed"


@contextmanager
def copied(stack, role):
    """Credentials of a role with the same policies, which the caller may assume for the duration of the check."""
    account, original = stack.account, stack.resources[role]
    name, external = f"postrider-verify-{secrets.token_hex(4)}", secrets.token_hex(16)
    trust = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": f"arn:aws:iam::{stack.number}:root"},
        "Condition": {"StringEquals": {"sts:ExternalId": external}}}]}
    made = account.call("iam", "create-role", RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    policies = []
    try:
        for policy in account.call("iam", "list-role-policies", RoleName=original)["PolicyNames"]:
            document = account.call("iam", "get-role-policy", RoleName=original, PolicyName=policy)["PolicyDocument"]
            account.call("iam", "put-role-policy", RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document))
            policies.append(policy)
        arguments = {"RoleArn": made["Role"]["Arn"], "RoleSessionName": "verify", "ExternalId": external}

        def assumed():
            try:
                return account.call("sts", "assume-role", **arguments)
            except AwsError as error:
                if error.code not in DENIED:
                    raise
                return None

        # IAM needs some seconds until a new role can be assumed.
        session = wait_until(assumed, 90)
        if session is None:
            raise RuntimeError(f"{name} cannot be assumed: your own permissions need sts:AssumeRole")
        yield account.acting_as(session["Credentials"], stack.region)
    finally:
        for policy in policies:
            account.call("iam", "delete-role-policy", RoleName=name, PolicyName=policy)
        account.call("iam", "delete-role", RoleName=name)


def roles(stack, _gateway):
    wrong, calls = [], 0
    for role, allowed, denied in cases(stack):
        with copied(stack, role) as account:
            # Until the policies of the new role apply everywhere, calls that they allow may be denied.
            wait_until(lambda: all(outcome(account, call) != "denied" for call in allowed), 90)
            for expected, group in (("allowed", allowed), ("denied", denied)):
                for call in group:
                    calls += 1
                    seen = outcome(account, call)
                    if seen != expected:
                        wrong.append(f"{role}: {call[1]} is {seen}, not {expected}")
    return failed("; ".join(wrong)) if wrong else passed(f"{calls} calls with the policies of four roles")
