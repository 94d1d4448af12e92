//! The state of a webhook, and what one attempt does to it.

mod reason;

use serde::{Deserialize, Serialize};

use crate::attempt;
use crate::delivery::Delivery;
use crate::ids::DeliveryId;
use crate::pattern::EventType;
use crate::time::{Millis, Timestamp};

pub use reason::StatusReason;

/// How many failures in a row make a warning.
pub const WARNING_AT: u32 = 3;

/// How many of the first attempts after a resume have to fail, all of them, for the webhook to be failed again.
pub const PROBES: u32 = 3;

/// How many tests a failed webhook is sent, at the most: about a week of them.
const MAX_PROBES: u32 = 173;
/// How long after the failure the first test is made; the wait doubles with each.
const FIRST_TEST_AFTER: Millis = Millis::from_seconds(60);
/// The longest wait between two probes.
const TESTS_APART: Millis = Millis::from_seconds(3600);

/// Whether a webhook takes deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Deliveries go out. With failures in a row it is *degraded*.
    #[default]
    Active,
    /// A delivery was exhausted; deliveries wait for a person.
    Failed,
    /// A person paused it; deliveries wait.
    Paused,
    /// It wants no more: refused when named, skipped in fan-out.
    Disabled,
}

impl WebhookStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Active, Self::Failed, Self::Paused, Self::Disabled];

    /// The name used in API and stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }

    /// Whether deliveries wait instead of going out.
    #[must_use]
    pub const fn parks(self) -> bool {
        match self {
            Self::Failed | Self::Paused | Self::Disabled => true,
            Self::Active => false,
        }
    }
}

/// The last attempt that failed, for whoever is told of a webhook's trouble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    /// The delivery that was attempted.
    pub delivery: DeliveryId,
    /// The type of its event.
    pub event_type: EventType,
    /// Why it failed. Contains nothing of the response body, which may repeat what was sent.
    pub error: String,
    /// When that was known.
    pub at: Timestamp,
}

impl LastFailure {
    /// The failure that the row's last attempt ended with.
    #[must_use]
    pub fn of(row: &Delivery, at: Timestamp) -> Self {
        let error = match row.last_status {
            // The detail also holds the start of the response.
            Some(status) => attempt::status_error(status),
            None => row
                .error_detail
                .clone()
                .unwrap_or_else(|| "unknown reason".to_owned()),
        };
        Self {
            delivery: row.id,
            event_type: row.event_type.clone(),
            error,
            at,
        }
    }
}

/// The state of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Whether it takes deliveries.
    pub status: WebhookStatus,
    /// Failed attempts in a row.
    pub failure_count: u32,
    /// Raised whenever a person changes the status, so that what was under way before does not undo it.
    pub generation: u32,
    /// Why it has its status.
    #[serde(default, deserialize_with = "reason::stored")]
    pub reason: Option<StatusReason>,
    /// When the status changed last.
    pub changed_at: Option<Timestamp>,
    /// It failed, was resumed, and nothing has arrived since.
    #[serde(default)]
    pub on_probation: bool,
    /// It failed on probation: whoever was told of the first time need not be told of this one.
    #[serde(default)]
    pub again: bool,
    /// How many probes it was sent since something arrived.
    #[serde(default)]
    pub probes: u32,
    /// When it may be tested next; none unless it is failed, and none after the last test.
    #[serde(default)]
    pub next_probe_at: Option<Timestamp>,
    /// What failed last; stays when it is well again.
    #[serde(default)]
    pub last_failure: Option<LastFailure>,
}

impl Health {
    /// Whether there are recent failures although it is active.
    #[must_use]
    pub fn is_degraded(&self) -> bool {
        self.status == WebhookStatus::Active && self.failure_count > 0
    }

    /// The state after an operator changed the status.
    #[must_use]
    pub fn set(&self, status: WebhookStatus, now: Timestamp) -> Self {
        Self {
            status,
            failure_count: if status == WebhookStatus::Active {
                0
            } else {
                self.failure_count
            },
            generation: self.generation.saturating_add(1),
            reason: (status == WebhookStatus::Paused).then_some(StatusReason::PausedByOperator),
            changed_at: Some(now),
            on_probation: status == WebhookStatus::Active && self.status == WebhookStatus::Failed,
            again: false,
            probes: 0,
            next_probe_at: None,
            last_failure: self.last_failure.clone(),
        }
    }

    /// The state with one more test begun; none when it is not to be tested now.
    #[must_use]
    pub fn probe_begun(&self, now: Timestamp) -> Option<Self> {
        let is_due = self.next_probe_at.is_some_and(|at| at <= now);
        if self.status != WebhookStatus::Failed || !is_due {
            return None;
        }
        let probes = self.probes.saturating_add(1);
        Some(Self {
            probes,
            next_probe_at: (probes < MAX_PROBES).then(|| now.plus(probe_wait(probes))),
            ..self.clone()
        })
    }

    /// The state after a test of it was answered; none when it is not failed any more, or a person changed it since.
    #[must_use]
    pub fn passed_probe(&self, generation: u32, now: Timestamp) -> Option<Self> {
        let is_same = self.status == WebhookStatus::Failed && self.generation == generation;
        // The count of probes goes on: a receiver that answers nothing but probes is probed less and less often.
        is_same.then(|| Self {
            probes: self.probes,
            reason: Some(StatusReason::AutoResumed),
            ..self.set(WebhookStatus::Active, now)
        })
    }

    /// How many retries the delivery used that failed the webhook.
    #[must_use]
    pub const fn retries_used(&self) -> Option<u32> {
        match &self.reason {
            Some(StatusReason::Exhausted { retries, .. }) => Some(*retries),
            Some(
                StatusReason::FailedAfterResume { .. }
                | StatusReason::Gone
                | StatusReason::Declined
                | StatusReason::PausedByOperator
                | StatusReason::AutoResumed
                | StatusReason::Text { .. },
            )
            | None => None,
        }
    }

    /// The state after a delivered attempt.
    #[must_use]
    pub fn succeeded(&self) -> Self {
        Self {
            failure_count: 0,
            on_probation: false,
            probes: 0,
            ..self.clone()
        }
    }

    /// The state after a failed attempt.
    #[must_use]
    pub fn failed_once(&self, failure: LastFailure) -> Self {
        Self {
            failure_count: self.failure_count.saturating_add(1),
            last_failure: Some(failure),
            ..self.clone()
        }
    }

    /// The state after the gateway itself stopped it, unless a person changed it since `generation`, or it is stopped
    /// already.
    #[must_use]
    pub fn stopped(
        &self,
        status: WebhookStatus,
        generation: u32,
        reason: StatusReason,
        now: Timestamp,
    ) -> Self {
        let further = match self.status {
            WebhookStatus::Active => true,
            WebhookStatus::Failed | WebhookStatus::Paused => status == WebhookStatus::Disabled,
            WebhookStatus::Disabled => false,
        };
        if self.generation != generation || !further {
            return self.clone();
        }
        let probes = if self.on_probation { self.probes } else { 0 };
        let is_probed = status == WebhookStatus::Failed && probes < MAX_PROBES;
        Self {
            status,
            reason: Some(reason),
            changed_at: Some(now),
            on_probation: false,
            again: status == WebhookStatus::Failed && self.on_probation,
            probes,
            next_probe_at: is_probed.then(|| now.plus(probe_wait(probes))),
            ..self.clone()
        }
    }
}

/// How long after its `n`-th test a webhook is tested again.
fn probe_wait(n: u32) -> Millis {
    let doubled = 1_u64.checked_shl(n).unwrap_or(u64::MAX);
    let wait = FIRST_TEST_AFTER.get().saturating_mul(doubled);
    Millis::new(wait).min(TESTS_APART)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TenantId;
    use crate::notification::health_notification;

    #[test]
    fn a_receiver_that_answers_tests_alone_is_tested_less_and_less_often() {
        let reason = || StatusReason::Gone;
        let mut now = Timestamp::ZERO;
        let mut health = Health::default().stopped(WebhookStatus::Failed, 0, reason(), now);
        let mut waits = Vec::new();
        // One more than there should be: it ends.
        for _ in 0..=MAX_PROBES {
            let Some(at) = health.next_probe_at else {
                break;
            };
            waits.push(at.since(now));
            now = at;
            let tested = health.probe_begun(now).unwrap();
            let resumed = tested.passed_probe(tested.generation, now).unwrap();
            assert!(resumed.on_probation);
            health = resumed.stopped(WebhookStatus::Failed, resumed.generation, reason(), now);
        }
        assert_eq!(waits.len(), MAX_PROBES as usize);
        assert!(waits.is_sorted());
        assert_eq!(waits.last(), Some(&TESTS_APART));
        let well =
            health
                .succeeded()
                .stopped(WebhookStatus::Failed, health.generation, reason(), now);
        assert_eq!(well.probes, 0);
    }

    fn failure() -> LastFailure {
        LastFailure {
            delivery: "dlv_aaaaaaaaaaaaeaaaaaaaaaaaaeaaaaaaaaaaaaiaaaaaaaaaaaaa"
                .parse()
                .unwrap(),
            event_type: "task.completed".parse().unwrap(),
            error: "HTTP status 500".to_owned(),
            at: Timestamp::ZERO,
        }
    }

    /// A store may write several steps at once, and announces what came of them.
    #[test]
    fn a_webhook_that_recovered_in_between_fails_for_the_first_time() {
        let (tenant, id) = (TenantId::default(), failure().delivery.webhook);
        let stop = |health: &Health| {
            let failed = health.failed_once(failure());
            failed.stopped(
                WebhookStatus::Failed,
                1,
                StatusReason::Gone,
                Timestamp::ZERO,
            )
        };
        let failed = Health::default().stopped(
            WebhookStatus::Failed,
            0,
            StatusReason::Gone,
            Timestamp::ZERO,
        );
        let resumed = failed.set(WebhookStatus::Active, Timestamp::ZERO);
        let said_again = |after: &Health| {
            let notification =
                health_notification(&tenant, id, &resumed, after, Timestamp::ZERO).unwrap();
            notification.data.get("again").is_some()
        };
        assert!(said_again(&stop(&resumed)));
        assert!(!said_again(&stop(&resumed.succeeded())));
        let later = stop(&resumed).set(WebhookStatus::Active, Timestamp::ZERO);
        assert!(!later.again);
    }
}
