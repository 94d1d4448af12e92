//! What people are shown about the flow to a webhook.

use serde::{Deserialize, Serialize};

use super::{AttemptKind, FLOOR_MILLI, Limiter, Limits, MILLI};
use crate::delivery::Delivery;
use crate::health::WebhookStatus;
use crate::time::{Millis, Timestamp};

/// A delivery that is due for less than this is about to be attempted.
const ABOUT_TO_GO: Millis = Millis::from_seconds(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Whether first attempts, too, have to keep to the rate.
    pub limited: bool,
    /// Of retries and, while it is limited, of all attempts; in thousandths per second.
    pub rate_milli: u32,
    /// Whether the webhook's settings limit all attempts, whatever its receiver takes.
    #[serde(default)]
    pub capped: bool,
}

impl FlowStatus {
    /// The flow to a webhook that nothing is known about.
    #[must_use]
    pub fn unlimited(limits: &Limits) -> Self {
        Self {
            limited: false,
            rate_milli: limits.start_milli(),
            capped: limits.is_capped(),
        }
    }

    /// The flow to a webhook that was just resumed.
    #[must_use]
    pub const fn resumed(limits: &Limits) -> Self {
        Self {
            limited: true,
            rate_milli: FLOOR_MILLI,
            capped: limits.is_capped(),
        }
    }

    #[must_use]
    pub fn of(limiter: &Limiter, limits: &Limits) -> Self {
        Self {
            limited: limiter.limited,
            rate_milli: if limiter.limited {
                limiter.current_rate_milli(limits)
            } else {
                limiter.retry_rate_milli(limits)
            },
            capped: limits.is_capped(),
        }
    }

    /// How fast a backlog gets smaller, in thousandths per second. `None` if that depends on what is in it: under a maximum
    /// of the webhook, first attempts may go faster than retries.
    #[must_use]
    pub fn backlog_rate_milli(&self, limits: &Limits) -> Option<u32> {
        let is_same_for_all = self.limited
            || !limits.is_capped()
            || limits.max_milli().is_some_and(|max| max <= self.rate_milli);
        is_same_for_all.then_some(self.rate_milli)
    }

    #[must_use]
    pub fn per_second(&self) -> f64 {
        f64::from(self.rate_milli) / f64::from(MILLI)
    }
}

/// Why an open delivery is not being attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingFor {
    /// For the time of its next attempt.
    RetryTime,
    /// For its webhook, which is paused, failed or disabled.
    WebhookResume,
    /// For the rate at which its webhook may be called.
    RateLimit,
}

impl WaitingFor {
    pub const ALL: [Self; 3] = [Self::RetryTime, Self::WebhookResume, Self::RateLimit];

    /// The name in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RetryTime => "retry_time",
            Self::WebhookResume => "webhook_resume",
            Self::RateLimit => "rate_limit",
        }
    }

    /// What a delivery waits for; `None` if it is closed, in flight or about to be attempted, or its webhook was deleted.
    #[must_use]
    pub fn of(
        row: &Delivery,
        webhook: Option<(WebhookStatus, FlowStatus)>,
        now: Timestamp,
    ) -> Option<Self> {
        if !row.status.is_open() || row.is_held(now) {
            return None;
        }
        let (status, flow) = webhook?;
        match status {
            WebhookStatus::Paused | WebhookStatus::Failed | WebhookStatus::Disabled => {
                return Some(Self::WebhookResume);
            }
            WebhookStatus::Active => {}
        }
        let due_at = row.next_retry_at.unwrap_or(row.created_at);
        if due_at > now {
            return Some(Self::RetryTime);
        }
        let needs_credit =
            flow.limited || flow.capped || AttemptKind::of(row) == AttemptKind::Retry;
        (needs_credit && now.since(due_at) > ABOUT_TO_GO).then_some(Self::RateLimit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::tests::{NOW, row};
    use crate::delivery::{Lease, LeaseOwner, Status};
    use crate::flow::Ramp;

    #[test]
    fn a_backlog_gets_smaller_at_the_rate_that_holds_it_up() {
        let mut limits = Limits {
            retry_rate: 5,
            ramp: Ramp::Off,
            max_rate: None,
            max_in_flight: None,
        };
        let limited = FlowStatus::resumed(&limits);
        let open = FlowStatus::unlimited(&limits);
        assert_eq!(open.backlog_rate_milli(&limits), Some(5000), "retries");
        limits.max_rate = Some(5);
        assert_eq!(open.backlog_rate_milli(&limits), Some(5000));
        limits.max_rate = Some(100);
        assert_eq!(
            open.backlog_rate_milli(&limits),
            None,
            "retries, or first attempts at the maximum"
        );
        assert_eq!(limited.backlog_rate_milli(&limits), Some(FLOOR_MILLI));
        (limits.max_rate, limits.max_in_flight) = (None, Some(1));
        assert_eq!(
            open.backlog_rate_milli(&limits),
            None,
            "as fast as it answers"
        );
    }

    const LIMITS: Limits = Limits {
        retry_rate: 5,
        ramp: Ramp::Off,
        max_rate: None,
        max_in_flight: None,
    };

    #[test]
    fn what_is_shown_is_the_rate_that_holds_attempts_up() {
        let limiter = Limiter {
            rate_milli: 7500,
            ..Limiter::new(&LIMITS, NOW)
        };
        let open = FlowStatus::of(&limiter, &LIMITS);
        assert_eq!(open, FlowStatus::unlimited(&LIMITS));
        let limited = Limiter {
            limited: true,
            ..limiter
        };
        let limited = FlowStatus::of(&limited, &LIMITS);
        assert!(limited.limited && !limited.capped);
        assert!((limited.per_second() - 7.5).abs() < f64::EPSILON);
        let capped = Limits {
            max_in_flight: Some(1),
            ..LIMITS
        };
        assert!(FlowStatus::resumed(&capped).capped);
        let capped = Limits {
            max_rate: Some(9),
            ..LIMITS
        };
        assert!(FlowStatus::unlimited(&capped).capped);
    }

    #[test]
    fn each_reason_has_the_same_name_everywhere() {
        for reason in WaitingFor::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
        for ramp in Ramp::ALL {
            assert_eq!(serde_json::to_value(ramp).unwrap(), ramp.as_str());
        }
    }

    #[test]
    fn a_delivery_waits_for_its_webhook_then_its_time_then_the_rate() {
        let open = FlowStatus::unlimited(&LIMITS);
        let waits = |row: &Delivery, status, flow, ms| {
            WaitingFor::of(row, Some((status, flow)), NOW.plus(Millis::new(ms)))
        };
        let retry = row(Status::Failed);
        for status in WebhookStatus::ALL {
            let later = Delivery {
                next_retry_at: Some(NOW.plus(Millis::new(1))),
                ..retry.clone()
            };
            let expected = match status {
                WebhookStatus::Active => WaitingFor::RetryTime,
                WebhookStatus::Paused | WebhookStatus::Failed | WebhookStatus::Disabled => {
                    WaitingFor::WebhookResume
                }
            };
            assert_eq!(waits(&later, status, open, 0), Some(expected));
        }
        let active = WebhookStatus::Active;
        assert_eq!(waits(&retry, active, open, 0), None, "about to go");
        assert_eq!(waits(&retry, active, open, 1000), None);
        let by_rate = Some(WaitingFor::RateLimit);
        assert_eq!(waits(&retry, active, open, 1001), by_rate);
        let first = Delivery {
            attempts_total: 0,
            ..retry.clone()
        };
        assert_eq!(waits(&first, active, open, 1001), None);
        for (limited, capped) in [(true, false), (false, true)] {
            let flow = FlowStatus {
                limited,
                capped,
                ..open
            };
            assert_eq!(waits(&first, active, flow, 1001), by_rate);
        }
    }

    #[test]
    fn a_delivery_that_is_closed_or_in_flight_waits_for_nothing() {
        let open = FlowStatus::unlimited(&LIMITS);
        let paused = Some((WebhookStatus::Paused, open));
        let process = "process".to_owned();
        let lease = Lease {
            owner: LeaseOwner { process, claim: 1 },
            until: NOW,
        };
        let held = row(Status::Failed).claim(&lease, NOW).unwrap();
        assert_eq!(WaitingFor::of(held.delivery(), paused, NOW), None);
        assert_eq!(WaitingFor::of(&row(Status::Dead), paused, NOW), None);
        assert_eq!(WaitingFor::of(&row(Status::Failed), None, NOW), None);
    }
}
