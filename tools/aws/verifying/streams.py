"""The table's stream: filters, the batching window, and repetition after a failure."""

import json
import secrets
import time
from contextlib import contextmanager

from .account import now
from .check import failed, passed, wait_until

EVENTS = 20
CENT = 0.01


def window(stack, gateway):
    account, since = stack.account, now()
    with gateway.looped_webhook() as webhook:
        gateway.publish(webhook, EVENTS)
        # The window is two minutes; metrics take another two.
        wait_until(lambda: watched_rows(stack, since) >= EVENTS, 600, pause=20)
        # Records that should not have passed may come later, from another shard.
        time.sleep(150)
        rows = watched_rows(stack, since)
    runs = account.metric_sum("AWS/Lambda", "Invocations", since, FunctionName=f"{stack.name}-watcher")
    said = f"the watcher saw {rows:.0f} rows of {EVENTS} accepted, in {runs:.0f} invocations"
    if rows > EVENTS:
        return failed(f"{said}: its filter lets other changes pass, or the stack had other traffic", CENT)
    if rows < EVENTS or runs > EVENTS / 2:
        return failed(said, CENT)
    return passed(said, CENT)


def watched_rows(stack, since):
    return stack.account.metric_sum("Postrider", "watched_rows", since, gateway=stack.name)


def retries(stack, gateway):
    account, since = stack.account, now()
    with gateway.looped_webhook() as webhook, notifications(stack, webhook) as received:
        with denied(stack):
            # IAM needs some seconds until the publisher is denied.
            time.sleep(30)
            gateway.publish(webhook, EVENTS)
            wait_until(lambda: gateway.settled(webhook, EVENTS), 120)
            time.sleep(30)
            early = received()
        got = set(early)

        def complete():
            got.update(received())
            return len(got) >= EVENTS

        wait_until(complete, 600)
    given_up = account.metric_sum("AWS/SQS", "NumberOfMessagesSent", since, QueueName=stack.outputs["FailedChangesSeenUrl"].rsplit("/", 1)[1])
    said = f"{len(got)} of {EVENTS} notifications arrived, {len(early)} of them while the publisher was denied SNS"
    if len(got) < EVENTS or given_up:
        return failed(f"{said}; {given_up:.0f} batches were given up", CENT)
    if early:
        return failed(f"{said}: the denial came too late, run it again", CENT)
    return passed(said, CENT)


@contextmanager
def denied(stack):
    """The publisher may not publish, so its batches fail and come again."""
    role, name = stack.resources["PublisherRole"], "postrider-verify"
    deny = {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "sns:Publish", "Resource": stack.outputs["NoticesTopic"]}]}
    try:
        stack.account.call("iam", "put-role-policy", RoleName=role, PolicyName=name, PolicyDocument=json.dumps(deny))
        yield
    finally:
        stack.account.call("iam", "delete-role-policy", RoleName=role, PolicyName=name)


@contextmanager
def notifications(stack, webhook):
    """A function that returns the ids of the `delivery.delivered` notifications since its last call."""
    account, topic = stack.account, stack.outputs["NoticesTopic"]
    name = f"postrider-verify-{secrets.token_hex(4)}"
    arn = f"arn:aws:sqs:{stack.region}:{stack.number}:{name}"
    allow = {"Version": "2012-10-17", "Statement": [{
        "Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": topic}}}]}
    queue = account.call("sqs", "create-queue", QueueName=name, Attributes={"Policy": json.dumps(allow)})["QueueUrl"]
    subscription = None
    try:
        subscription = account.call(
            "sns", "subscribe", TopicArn=topic, Protocol="sqs", Endpoint=arn, ReturnSubscriptionArn=True,
            Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps({"type": ["delivery.delivered"], "webhook_id": [webhook]})},
        )["SubscriptionArn"]
        # A subscription needs some seconds until it gets messages.
        time.sleep(15)
        yield lambda: received(account, queue)
    finally:
        if subscription:
            account.call("sns", "unsubscribe", SubscriptionArn=subscription)
        account.call("sqs", "delete-queue", QueueUrl=queue)


def received(account, queue):
    ids = []
    while messages := account.call("sqs", "receive-message", QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=2).get("Messages"):
        for message in messages:
            ids.append(json.loads(message["Body"])["id"])
            account.call("sqs", "delete-message", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
    return ids
