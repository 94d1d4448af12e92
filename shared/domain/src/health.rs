//! The state of a webhook and how attempts change it.

mod reason;

use serde::{Deserialize, Serialize};

use crate::attempt;
use crate::delivery::Delivery;
use crate::ids::DeliveryId;
use crate::pattern::EventType;
use crate::time::{Millis, Timestamp};

pub use reason::StatusReason;

/// How many failures in a row cause a warning.
pub const WARNING_AT: u32 = 3;

/// If all of this many first attempts after a resume fail, the webhook fails again.
pub const PROBES: u32 = 3;

/// The maximum number of probes for a failed webhook: about a week's worth.
const MAX_PROBES: u32 = 173;
/// The delay from the failure to the first probe; it doubles with each probe.
const FIRST_TEST_AFTER: Millis = Millis::from_seconds(60);
/// The longest delay between two probes.
pub const PROBES_APART: Millis = Millis::from_seconds(3600);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    /// Deliveries are sent. With recent failures it counts as *degraded*.
    #[default]
    Active,
    /// A delivery was exhausted; deliveries are on hold until an operator resumes the webhook.
    Failed,
    /// An operator paused it; deliveries are on hold.
    Paused,
    /// The receiver asked for no more deliveries: an error if named explicitly, skipped in fan-out.
    Disabled,
}

impl WebhookStatus {
    pub const ALL: [Self; 4] = [Self::Active, Self::Failed, Self::Paused, Self::Disabled];

    /// The name in the API and in stores.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }

    /// Whether deliveries are on hold.
    #[must_use]
    pub const fn is_stopped(self) -> bool {
        match self {
            Self::Failed | Self::Paused | Self::Disabled => true,
            Self::Active => false,
        }
    }
}

/// The last failed attempt, for notifications and e-mails about the webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastFailure {
    pub delivery: DeliveryId,
    pub event_type: EventType,
    /// Why it failed. Contains nothing of the response body, which may repeat what was sent.
    pub error: String,
    pub at: Timestamp,
}

impl LastFailure {
    #[must_use]
    pub fn of(row: &Delivery, at: Timestamp) -> Self {
        let error = match row.last_status {
            // The row's detail also holds the start of the response.
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
    pub status: WebhookStatus,
    /// Failed attempts in a row.
    pub failure_count: u32,
    /// Incremented whenever an operator changes the status, so that attempts in flight do not undo the change.
    pub generation: u32,
    #[serde(default, deserialize_with = "reason::stored")]
    pub reason: Option<StatusReason>,
    pub changed_at: Option<Timestamp>,
    /// It failed and was resumed, and nothing has been delivered since.
    #[serde(default)]
    pub on_probation: bool,
    /// It failed again on probation. Its owner was already notified of the first failure.
    #[serde(default)]
    pub again: bool,
    /// Probes sent since the last successful delivery.
    #[serde(default)]
    pub probes: u32,
    /// When the next probe is due; `None` unless it is failed, and after the last probe.
    #[serde(default)]
    pub next_probe_at: Option<Timestamp>,
    /// Stays after the webhook has recovered.
    #[serde(default)]
    pub last_failure: Option<LastFailure>,
}

impl Health {
    /// Whether it is active with recent failures.
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

    /// The state with one more probe started; `None` if no probe is due.
    #[must_use]
    pub fn probe_begun(&self, now: Timestamp) -> Option<Self> {
        let is_due = self
            .next_probe_at
            .is_some_and(|at| at.is_due(now, PROBES_APART));
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

    /// The state after the probe with this number was not sent, through no fault of the receiver: it is due again. `None` if it
    /// is no longer the last one.
    #[must_use]
    pub fn probe_given_back(&self, probes: u32, now: Timestamp) -> Option<Self> {
        let is_last = self.status == WebhookStatus::Failed && self.probes == probes;
        is_last.then(|| Self {
            probes: probes.saturating_sub(1),
            next_probe_at: Some(now),
            ..self.clone()
        })
    }

    /// The state after a probe succeeded; `None` if it is no longer failed, or an operator changed it since.
    #[must_use]
    pub fn passed_probe(&self, generation: u32, now: Timestamp) -> Option<Self> {
        let is_same = self.status == WebhookStatus::Failed && self.generation == generation;
        // The probe count continues: a receiver that answers nothing but probes is probed less and less often.
        is_same.then(|| Self {
            probes: self.probes,
            reason: Some(StatusReason::AutoResumed),
            ..self.set(WebhookStatus::Active, now)
        })
    }

    /// How many retries the delivery that failed the webhook had used.
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

    #[must_use]
    pub fn succeeded(&self) -> Self {
        Self {
            failure_count: 0,
            on_probation: false,
            probes: 0,
            ..self.clone()
        }
    }

    #[must_use]
    pub fn failed_once(&self, failure: LastFailure) -> Self {
        Self {
            failure_count: self.failure_count.saturating_add(1),
            last_failure: Some(failure),
            ..self.clone()
        }
    }

    /// The state after the gateway stopped it, unless an operator changed it since `generation` or it is already
    /// stopped.
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

/// The delay between probe `n` and the next one.
fn probe_wait(n: u32) -> Millis {
    let doubled = 1_u64.checked_shl(n).unwrap_or(u64::MAX);
    let wait = FIRST_TEST_AFTER.get().saturating_mul(doubled);
    Millis::new(wait).min(PROBES_APART)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TenantId;
    use crate::notification::health_notification;

    #[test]
    fn a_receiver_that_answers_only_probes_is_probed_less_and_less_often() {
        let reason = || StatusReason::Gone;
        let mut now = Timestamp::ZERO;
        let mut health = Health::default().stopped(WebhookStatus::Failed, 0, reason(), now);
        let mut waits = Vec::new();
        // One more than the maximum: it must end.
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
        assert_eq!(waits.last(), Some(&PROBES_APART));
        let well =
            health
                .succeeded()
                .stopped(WebhookStatus::Failed, health.generation, reason(), now);
        assert_eq!(well.probes, 0);
    }

    #[test]
    fn statuses_have_the_names_of_the_api() {
        let names = WebhookStatus::ALL.map(WebhookStatus::as_str);
        assert_eq!(names, ["active", "failed", "paused", "disabled"]);
    }

    #[test]
    fn only_an_active_webhook_with_failures_is_degraded() {
        let is_degraded = |status, failure_count| {
            let health = Health {
                status,
                failure_count,
                ..Health::default()
            };
            health.is_degraded()
        };
        assert!(!is_degraded(WebhookStatus::Active, 0));
        assert!(is_degraded(WebhookStatus::Active, 1));
        assert!(!is_degraded(WebhookStatus::Failed, 1));
    }

    #[test]
    fn an_operator_resets_failures_by_resuming_and_is_the_reason_of_a_pause() {
        let failing = Health {
            failure_count: 3,
            ..Health::default()
        };
        let paused = failing.set(WebhookStatus::Paused, Timestamp::ZERO);
        assert_eq!(paused.failure_count, 3);
        assert_eq!(paused.reason, Some(StatusReason::PausedByOperator));
        let resumed = paused.set(WebhookStatus::Active, Timestamp::ZERO);
        assert_eq!((resumed.failure_count, resumed.reason), (0, None));
    }

    /// A failed webhook with its first probe due at a minute.
    fn failed() -> Health {
        Health::default().stopped(
            WebhookStatus::Failed,
            0,
            StatusReason::Gone,
            Timestamp::ZERO,
        )
    }

    const MINUTE: Timestamp = Timestamp::from_millis(60_000);

    #[test]
    fn a_failed_webhook_is_probed_when_a_probe_is_due() {
        let early = Timestamp::from_millis(59_999);
        assert_eq!(failed().probe_begun(early), None);
        let begun = failed().probe_begun(MINUTE).unwrap();
        assert_eq!(begun.probes, 1);
        assert_eq!(begun.next_probe_at, Some(Timestamp::from_millis(180_000)));
        let resumed = failed().set(WebhookStatus::Active, MINUTE);
        let resumed = Health {
            next_probe_at: Some(MINUTE),
            ..resumed
        };
        assert_eq!(resumed.probe_begun(MINUTE), None);
    }

    #[test]
    fn the_last_probe_plans_no_other() {
        let probed = |probes| Health { probes, ..failed() };
        let last = probed(MAX_PROBES - 1).probe_begun(MINUTE).unwrap();
        assert_eq!((last.probes, last.next_probe_at), (MAX_PROBES, None));
        let before = probed(MAX_PROBES - 2).probe_begun(MINUTE).unwrap();
        assert!(before.next_probe_at.is_some());
    }

    #[test]
    fn only_the_last_probe_of_a_failed_webhook_can_be_given_back() {
        let begun = failed().probe_begun(MINUTE).unwrap();
        let later = Timestamp::from_millis(61_000);
        let given_back = begun.probe_given_back(1, later).unwrap();
        assert_eq!(
            (given_back.probes, given_back.next_probe_at),
            (0, Some(later))
        );
        assert_eq!(given_back.reason, begun.reason);
        assert_eq!(begun.probe_given_back(2, later), None);
        let paused = Health {
            status: WebhookStatus::Paused,
            ..begun
        };
        assert_eq!(paused.probe_given_back(1, later), None);
    }

    #[test]
    fn a_probe_resumes_a_webhook_that_no_operator_has_changed_since() {
        let begun = failed().probe_begun(MINUTE).unwrap();
        let resumed = begun.passed_probe(0, MINUTE).unwrap();
        assert_eq!(resumed.status, WebhookStatus::Active);
        assert_eq!(resumed.reason, Some(StatusReason::AutoResumed));
        assert_eq!(begun.passed_probe(1, MINUTE), None);
        assert_eq!(Health::default().passed_probe(0, MINUTE), None);
    }

    #[test]
    fn stopping_notes_when_and_ends_a_probation() {
        let on_probation = Health {
            on_probation: true,
            ..Health::default()
        };
        let stopped = on_probation.stopped(WebhookStatus::Failed, 0, StatusReason::Gone, MINUTE);
        assert_eq!(stopped.changed_at, Some(MINUTE));
        assert!(stopped.again);
        assert!(!stopped.on_probation);
    }

    #[test]
    fn only_a_failed_webhook_that_is_resumed_is_on_probation() {
        let of = |status| Health {
            status,
            ..Health::default()
        };
        for (before, after, is_on_probation) in [
            (WebhookStatus::Failed, WebhookStatus::Active, true),
            (WebhookStatus::Paused, WebhookStatus::Active, false),
            (WebhookStatus::Failed, WebhookStatus::Paused, false),
        ] {
            let set = of(before).set(after, Timestamp::ZERO);
            assert_eq!(set.on_probation, is_on_probation, "{before:?} {after:?}");
        }
    }

    #[test]
    fn a_stopped_webhook_can_only_be_disabled() {
        let stopped = |before, generation, after| {
            let health = Health {
                status: before,
                generation: 1,
                probes: 2,
                ..Health::default()
            };
            health.stopped(after, generation, StatusReason::Gone, Timestamp::ZERO)
        };
        for before in [WebhookStatus::Failed, WebhookStatus::Paused] {
            let failed = stopped(before, 1, WebhookStatus::Failed);
            assert_eq!((failed.status, failed.reason), (before, None));
            let disabled = stopped(before, 1, WebhookStatus::Disabled);
            assert_eq!(disabled.status, WebhookStatus::Disabled);
            assert_eq!((disabled.probes, disabled.next_probe_at), (0, None));
        }
        // An operator has changed it since.
        let outdated = stopped(WebhookStatus::Active, 0, WebhookStatus::Disabled);
        assert_eq!(outdated.status, WebhookStatus::Active);
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

    /// A store may write several steps at once and only notifies about the result.
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
