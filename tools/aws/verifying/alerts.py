"""What reaches people: alarms through SNS, e-mails about webhooks through SES."""

from .account import now
from .check import failed, passed, skipped, wait_until

CENT = 0.01


def alerts(stack, gateway):
    account, since = stack.account, now()
    subscriptions = account.call("sns", "list-subscriptions-by-topic", TopicArn=stack.resources["AlarmTopic"])["Subscriptions"]
    if not any(it["SubscriptionArn"].startswith("arn:") for it in subscriptions):
        return skipped("alarms reach no one: set AlertAddress and confirm the subscription")
    account.call(
        "cloudwatch", "set-alarm-state", AlarmName=stack.alarm("HintsDead"), StateValue="ALARM",
        StateReason="make verify-aws: a test, nothing is wrong",
    )
    topic = stack.resources["AlarmTopic"].rsplit(":", 1)[1]
    told = wait_until(lambda: account.metric_sum("AWS/SNS", "NumberOfNotificationsDelivered", since, TopicName=topic), 900, pause=30)
    if not told:
        return failed("SNS has not delivered the alarm after 15 minutes", CENT)
    if not stack.parameters.get("MailFrom"):
        return passed("SNS delivered the alarm; no e-mails about webhooks, because MailFrom is empty", CENT)
    return mailed(stack, gateway)


def mailed(stack, gateway):
    account, since, owner = stack.account, now(), stack.parameters.get("AlertAddress")
    if not account.call("sesv2", "get-account").get("ProductionAccessEnabled"):
        print("  the account is in the SES sandbox, so AlertAddress must be verified", flush=True)
    # The API answers a POST to an unknown path with an error, so every attempt fails.
    failing = {
        "target_url": f"{gateway.url}/postrider-verify", "owner_email": owner,
        "retry": {"profile": "custom", "delays_seconds": [1, 1], "max_attempts": 3},
    }
    with gateway.webhook(failing) as webhook:
        gateway.publish(webhook, 1)
        sent = wait_until(lambda: account.metric_sum("AWS/SES", "Delivery", since), 900, pause=30)
    if not sent:
        return failed("SNS delivered the alarm, but SES has delivered no e-mail about a failing webhook after 15 minutes", CENT)
    return passed(f"SNS delivered the alarm, SES an e-mail to {owner}", CENT)
