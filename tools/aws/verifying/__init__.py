"""The checks of tools/aws/verify, in the order in which they run: `window` counts rows, so nothing before it publishes."""

from .alerts import alerts
from .check import Check
from .data import restore, ttl
from .edge import throttle, tls
from .load import burst, cold_start
from .roles import roles
from .streams import retries, window

CHECKS = [
    Check("roles", "IAM enforces `LeadingKeys` and `Attributes`, KMS its grants: copies of four roles can do what the template allows and nothing else",
          "four temporary roles; writes nothing", 5, 0.00, roles),
    Check("window", "the watcher's filter passes accepted rows only, and its window collects them into few invocations",
          "20 deliveries", 12, 0.01, window),
    Check("retries", "while SNS is denied to the publisher, batches come again and are not given up; every notification arrives afterwards",
          "a temporary queue; denies `sns:Publish` to the publisher for two minutes", 8, 0.01, retries),
    Check("burst", "300 deliveries over the internet, signed and verified, at the first attempt and without throttling; table and indexes start warm",
          "a webhook that sends to a source of the stack", 3, 0.02, burst),
    Check("throttle", "requests to sources are throttled at `InboundRate`, and the API still answers",
          "up to 20,000 requests to an unknown source", 1, 0.05, throttle),
    Check("tls", "the address has a valid certificate and refuses TLS 1.1; with `DomainName`, the default address is off",
          "three connections", 1, 0.00, tls),
    Check("cold-start", "how long functions take to start, from the last 24 hours of logs; needs `SystemLogLevel` `INFO`",
          "reads logs", 1, 0.00, cold_start),
    Check("alerts", "an alarm reaches its subscribers through SNS, and the owner of a failing webhook gets an e-mail through SES",
          "sets an alarm, fails a webhook; sends two e-mails", 25, 0.01, alerts),
    Check("ttl", "DynamoDB deletes expired items; takes two runs, up to two days apart",
          "two items in the table until the second run", 1, 0.00, ttl),
    Check("restore", "the table can be restored to a moment ago, with its indexes, and how long that takes",
          "a second table, deleted afterwards; the stack does not use it", 120, 1.50, restore),
]
