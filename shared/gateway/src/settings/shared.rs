//! Settings that have the same names in the embedded gateway and on AWS.

use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::retention::Retention;
use postrider_domain::retry::{BPS_WHOLE, RetryBudget, RuntimeRetry};
use postrider_domain::time::Millis;

use super::Reader;

const SECONDS_PER_DAY: u64 = 86_400;

impl Reader<'_> {
    /// The gateway's own retry settings, under Postrider's names or those of the specification.
    pub fn retry(&mut self) -> RuntimeRetry {
        let jitter = self.either(
            "POSTRIDER_RETRY_JITTER_BPS",
            "PAYMENT_REQUEST_WEBHOOK_RETRY_JITTER_BPS",
        );
        let budget = self.either(
            "POSTRIDER_RETRY_BUDGET",
            "PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET",
        );
        RuntimeRetry {
            jitter_bps: jitter
                .and_then(|(name, text)| self.parse_number(name, &text, 0, BPS_WHOLE)),
            budget: RetryBudget(
                budget
                    .and_then(|(name, text)| self.parse_number(name, &text, 0, u32::MAX))
                    .unwrap_or(0),
            ),
        }
    }

    pub fn retention(&mut self) -> Retention {
        let mut days = |name, default| {
            Millis::from_seconds(self.number(name, 1, 3650, default) * SECONDS_PER_DAY)
        };
        Retention {
            delivered: days("POSTRIDER_RETENTION_DELIVERED_DAYS", 30),
            dead: days("POSTRIDER_RETENTION_DEAD_DAYS", 90),
        }
    }

    pub fn egress(&mut self) -> Rules {
        let settings = EgressSettings {
            allow: self.list(
                "POSTRIDER_EGRESS_ALLOW",
                "a comma-separated list of CIDRs such as 10.1.0.0/16",
            ),
            http_allowed: self.flag("POSTRIDER_EGRESS_HTTP"),
            extra_ports: self.list("POSTRIDER_EGRESS_PORTS", "a comma-separated list of ports"),
        };
        Rules::new(settings).unwrap_or_else(|errors| {
            for error in errors {
                self.fault(
                    "POSTRIDER_EGRESS_ALLOW, POSTRIDER_EGRESS_PORTS",
                    &error.to_string(),
                );
            }
            Rules::default()
        })
    }
}
