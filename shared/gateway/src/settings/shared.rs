//! Settings that have the same names in the embedded gateway and on AWS.

use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::retention::Retention;
use postrider_domain::retry::{BPS_WHOLE, RetryBudget, RuntimeRetry};
use postrider_domain::time::Millis;

use super::Reader;
use super::setting::{AliasedNumber, CommaList, DefaultText, Setting, Switch, WholeNumber};

const SECONDS_PER_DAY: u64 = 86_400;
const MAX_DAYS: u64 = 3650;

pub const RETRY_JITTER: Setting<AliasedNumber<u16>> = Setting {
    name: "POSTRIDER_RETRY_JITTER_BPS",
    values: AliasedNumber {
        min: 0,
        max: BPS_WHOLE,
        unset: "the profile's",
        alias: "PAYMENT_REQUEST_WEBHOOK_RETRY_JITTER_BPS",
    },
    meaning: "How far a retry may deviate from its schedule in either direction, in basis points: the delay is within `base × (1 ± bps / 10000)`, clamped to `(0, max_backoff]`. 0 keeps the exact schedule. Replaces the profile's jitter for webhooks that do not set their own.",
};

pub const RETRY_BUDGET: Setting<AliasedNumber<u32>> = Setting {
    name: "POSTRIDER_RETRY_BUDGET",
    values: AliasedNumber {
        min: 0,
        max: u32::MAX,
        unset: "0",
        alias: "PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET",
    },
    meaning: "Maximum number of retries for any delivery, applied at runtime: attempts end at `min(max_attempts of the row, budget + 1)`. 0 means no limit. It never raises a maximum and never changes a stored row.",
};

pub const EGRESS_ALLOW: Setting<CommaList> = Setting {
    name: "POSTRIDER_EGRESS_ALLOW",
    values: CommaList {
        items: "CIDRs such as 10.1.0.0/16",
        unset: "none",
    },
    meaning: "Private addresses that webhooks may reach, on any port and over plain http. Loopback, link-local and metadata addresses must be listed individually as a /32 or /128, such as `127.0.0.1/32`. They are allowed for every tenant, portal customers included; see [internal receivers](#internal-receivers).",
};

pub const EGRESS_DENY: Setting<CommaList> = Setting {
    name: "POSTRIDER_EGRESS_DENY",
    values: CommaList {
        items: "CIDRs such as 10.1.0.0/16",
        unset: "none",
    },
    meaning: "Addresses that webhooks may never reach, whatever `POSTRIDER_EGRESS_ALLOW` says, such as the network of the gateway itself.",
};

pub const EGRESS_HTTP: Setting<Switch> = Setting {
    name: "POSTRIDER_EGRESS_HTTP",
    values: Switch,
    meaning: "Whether webhooks may use plain http to public addresses.",
};

pub const EGRESS_PORTS: Setting<CommaList> = Setting {
    name: "POSTRIDER_EGRESS_PORTS",
    values: CommaList {
        items: "ports",
        unset: "none",
    },
    meaning: "Ports other than 80 and 443 that webhooks may use.",
};

pub const RETENTION_DELIVERED: Setting<WholeNumber<u64>> = Setting {
    name: "POSTRIDER_RETENTION_DELIVERED_DAYS",
    values: WholeNumber {
        min: 1,
        max: MAX_DAYS,
        default: 30,
    },
    meaning: "How long successful deliveries are stored, counted from their last attempt.",
};

pub const RETENTION_DEAD: Setting<WholeNumber<u64>> = Setting {
    name: "POSTRIDER_RETENTION_DEAD_DAYS",
    values: WholeNumber {
        min: 1,
        max: MAX_DAYS,
        default: 90,
    },
    meaning: "How long dead deliveries, and those that stay open, are stored.",
};

pub const LOG: Setting<DefaultText> = Setting {
    name: "POSTRIDER_LOG",
    values: DefaultText {
        form: "a level, or levels by module",
        default: "info",
    },
    meaning: "What to log to standard error: `warn`, `info`, `debug`, or levels by module such as `warn,postrider_gateway=debug`. At `info` each attempt is one line.",
};

impl Reader<'_> {
    /// The gateway's own retry settings, under Postrider's names or those of the specification.
    pub fn retry(&mut self) -> RuntimeRetry {
        RuntimeRetry {
            jitter_bps: RETRY_JITTER.read(self),
            budget: RETRY_BUDGET.read(self).map(RetryBudget).unwrap_or_default(),
        }
    }

    pub fn retention(&mut self) -> Retention {
        let days = |days| Millis::from_seconds(days * SECONDS_PER_DAY);
        Retention {
            delivered: days(RETENTION_DELIVERED.read(self)),
            dead: days(RETENTION_DEAD.read(self)),
        }
    }

    pub fn egress(&mut self) -> Rules {
        let settings = EgressSettings {
            allow: EGRESS_ALLOW.read(self),
            deny: EGRESS_DENY.read(self),
            http_allowed: EGRESS_HTTP.read(self),
            extra_ports: EGRESS_PORTS.read(self),
        };
        Rules::new(settings).unwrap_or_else(|errors| {
            let names = [EGRESS_ALLOW.name, EGRESS_PORTS.name].join(", ");
            for error in errors {
                self.fault(&names, &error.to_string());
            }
            Rules::default()
        })
    }
}
