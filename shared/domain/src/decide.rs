//! Decides what follows from one attempt. Pure and total: the same claim, outcome, policy, time and jitter always give
//! the same transition.

use serde::{Deserialize, Serialize};

use crate::attempt::Verdict;
use crate::delivery::{Claimed, DeadCause};
use crate::outcome::{Answer, Control, FailureKind, Outcome, Response};
use crate::retry::{Classifier, Jitter, OnExhausted, Policy, Redirects};
use crate::time::{Millis, Timestamp};

/// The change that an attempt makes to its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Transition {
    /// The row becomes `delivered`.
    Deliver,
    /// The row becomes `failed` and is attempted again (`MarkRetry` in the source documents).
    Retry { next_retry_at: Timestamp },
    /// The row becomes `dead` (`MarkFailed`).
    Die { cause: DeadCause },
}

impl Transition {
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Deliver => Verdict::Success,
            Self::Retry { .. } | Self::Die { .. } => Verdict::Failure,
        }
    }
}

/// The meaning of an outcome under a policy, before attempts are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Delivered,
    Retriable {
        /// The delay that the receiver asked for.
        asked: Option<Millis>,
    },
    Final(DeadCause),
}

/// The outcome table: what a response means under the policy's classifier.
#[must_use]
pub fn classify(outcome: &Outcome, policy: &Policy, now: Timestamp) -> Class {
    match &outcome.result {
        Answer::Response(response) => classify_status(response, policy, now),
        Answer::Failed(failure) => match (failure.kind, policy.classifier) {
            (FailureKind::Blocked, _) => Class::Final(DeadCause::Blocked),
            (FailureKind::Template, _) => Class::Final(DeadCause::Unrendered),
            (FailureKind::Malformed, Classifier::ByStatus) => Class::Final(DeadCause::Rejected),
            (
                FailureKind::Malformed
                | FailureKind::Timeout
                | FailureKind::Dns
                | FailureKind::Connect
                | FailureKind::Reset
                | FailureKind::Tls,
                _,
            ) => Class::Retriable { asked: None },
        },
    }
}

fn classify_status(response: &Response, policy: &Policy, now: Timestamp) -> Class {
    match by_status(response, policy, now) {
        Class::Delivered => Class::Delivered,
        failed @ (Class::Retriable { .. } | Class::Final(_)) => match response.control {
            Some(Control::AbortMessage) => Class::Final(DeadCause::Aborted),
            Some(Control::Disable) => Class::Final(DeadCause::Declined),
            None => failed,
        },
    }
}

fn by_status(response: &Response, policy: &Policy, now: Timestamp) -> Class {
    match (response.status, policy.classifier) {
        (200..=299, _) => Class::Delivered,
        (429 | 503, _) => Class::Retriable {
            asked: response.retry_after.map(|after| after.wait(now)),
        },
        (_, Classifier::EveryFailure) => Class::Retriable { asked: None },
        (300..=399, Classifier::ByStatus) => match policy.redirects {
            Redirects::Delivered => Class::Delivered,
            Redirects::Failure => Class::Retriable { asked: None },
        },
        (500..=599, Classifier::ByStatus) => Class::Retriable { asked: None },
        (410, Classifier::ByStatus) => Class::Final(DeadCause::Gone),
        (_, Classifier::ByStatus) => Class::Final(DeadCause::Rejected),
    }
}

/// The transition of a row whose attempt ended at `now`.
#[must_use]
pub fn decide(
    claimed: &Claimed,
    outcome: &Outcome,
    policy: &Policy,
    now: Timestamp,
    jitter: Jitter,
) -> Transition {
    let row = claimed.delivery();
    let failures = row.attempt_count.saturating_add(1);
    match classify(outcome, policy, now) {
        Class::Delivered => Transition::Deliver,
        Class::Final(cause) => Transition::Die { cause },
        Class::Retriable { .. } if failures >= policy.budget.effective_max(row.max_attempts) => {
            let cause = match policy.on_exhausted {
                OnExhausted::DeadLetter => DeadCause::Exhausted,
                OnExhausted::FailWebhook => DeadCause::ExhaustedFailingWebhook,
            };
            Transition::Die { cause }
        }
        Class::Retriable { asked } => Transition::Retry {
            next_retry_at: now.plus(policy.delay(failures, asked, jitter)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::{Delivery, Lease, LeaseOwner, Status};
    use crate::ids::{DeliveryId, EventId, TenantId, WebhookId};
    use crate::outcome::{Failure, Phase, RetryAfter, Timings};
    use crate::retry::{OnRetryAfter, Profile, RetryBudget, RetrySettings, RuntimeRetry};
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn claimed(attempt_count: u32, max_attempts: u32) -> Claimed {
        let row = Delivery {
            id: DeliveryId {
                event: EventId::from_bytes([1; 16]),
                webhook: WebhookId::from_bytes([2; 16]),
            },
            tenant: TenantId::default(),
            event_type: "task.completed".parse().unwrap(),
            session_id: None,
            intent: None,
            target_url: String::new(),
            signature: String::new(),
            status: Status::Pending,
            dead_cause: None,
            attempt_count,
            attempts_total: attempt_count,
            max_attempts,
            last_attempted_at: None,
            next_retry_at: Some(NOW),
            created_at: NOW,
            error_detail: None,
            last_status: None,
            generation: 0,
            in_backlog: false,
            version: 1,
            lease_owner: None,
            lease_until: Timestamp::ZERO,
        };
        let owner = LeaseOwner {
            process: "test".into(),
            claim: 1,
        };
        row.claim(
            &Lease {
                owner,
                until: NOW.plus(Millis::from_seconds(20)),
            },
            NOW,
        )
        .unwrap()
    }

    fn status(status: u16, retry_after: Option<RetryAfter>) -> Outcome {
        let response = Response {
            status,
            retry_after,
            control: None,
            content_type: None,
            body: String::new(),
        };
        Outcome {
            result: Answer::Response(response),
            timings: Timings::default(),
        }
    }

    fn failure(kind: FailureKind) -> Outcome {
        let failure = Failure {
            kind,
            phase: Phase::Connect,
            detail: "test".into(),
        };
        Outcome {
            result: Answer::Failed(failure),
            timings: Timings::default(),
        }
    }

    fn policy(profile: Profile) -> Policy {
        RetrySettings {
            profile,
            ..RetrySettings::default()
        }
        .policy(RuntimeRetry::default())
    }

    #[test]
    fn the_outcome_table_cell_by_cell() {
        let (delivered, retried) = (Class::Delivered, Class::Retriable { asked: None });
        let unrendered = Class::Final(DeadCause::Unrendered);
        let (rejected, gone, refused) = (
            Class::Final(DeadCause::Rejected),
            Class::Final(DeadCause::Gone),
            Class::Final(DeadCause::Blocked),
        );
        let rows = [
            (status(200, None), delivered, delivered, delivered),
            (status(204, None), delivered, delivered, delivered),
            (status(299, None), delivered, delivered, delivered),
            (status(301, None), retried, delivered, retried),
            (status(302, None), retried, delivered, retried),
            (status(307, None), retried, delivered, retried),
            (status(399, None), retried, delivered, retried),
            (status(429, None), retried, retried, retried),
            (status(500, None), retried, retried, retried),
            (status(502, None), retried, retried, retried),
            (status(503, None), retried, retried, retried),
            (status(504, None), retried, retried, retried),
            (status(599, None), retried, retried, retried),
            (status(400, None), retried, rejected, rejected),
            (status(401, None), retried, rejected, rejected),
            (status(403, None), retried, rejected, rejected),
            (status(404, None), retried, rejected, rejected),
            (status(405, None), retried, rejected, rejected),
            (status(499, None), retried, rejected, rejected),
            (status(101, None), retried, rejected, rejected),
            (status(600, None), retried, rejected, rejected),
            (status(999, None), retried, rejected, rejected),
            (status(410, None), retried, gone, gone),
            (failure(FailureKind::Malformed), retried, rejected, rejected),
            (failure(FailureKind::Timeout), retried, retried, retried),
            (failure(FailureKind::Dns), retried, retried, retried),
            (failure(FailureKind::Connect), retried, retried, retried),
            (failure(FailureKind::Reset), retried, retried, retried),
            (failure(FailureKind::Tls), retried, retried, retried),
            (failure(FailureKind::Blocked), refused, refused, refused),
            (
                failure(FailureKind::Template),
                unrendered,
                unrendered,
                unrendered,
            ),
        ];
        for (outcome, gateway, public_api, standard) in rows {
            let class = |profile| classify(&outcome, &policy(profile), NOW);
            assert_eq!(class(Profile::Gateway), gateway, "gateway: {outcome:?}");
            assert_eq!(
                class(Profile::PublicApi),
                public_api,
                "public-api: {outcome:?}"
            );
            assert_eq!(class(Profile::Standard), standard, "standard: {outcome:?}");
        }
    }

    #[test]
    fn a_receiver_may_stop_a_message_or_its_webhook_with_any_answer_that_is_a_failure() {
        let said = |code, control| {
            let mut outcome = status(code, None);
            if let Answer::Response(response) = &mut outcome.result {
                response.control = Some(control);
            }
            outcome
        };
        for profile in Profile::ALL {
            let class = |code, control| classify(&said(code, control), &policy(profile), NOW);
            for code in [400, 404, 410, 429, 500, 503] {
                let aborted = Class::Final(DeadCause::Aborted);
                assert_eq!(
                    class(code, Control::AbortMessage),
                    aborted,
                    "{profile:?} {code}"
                );
                let declined = Class::Final(DeadCause::Declined);
                assert_eq!(
                    class(code, Control::Disable),
                    declined,
                    "{profile:?} {code}"
                );
            }
            for control in [Control::AbortMessage, Control::Disable] {
                assert_eq!(class(200, control), Class::Delivered, "{profile:?}");
            }
        }
    }

    fn ask(seconds: u64, code: u16) -> Outcome {
        status(code, Some(RetryAfter::Delay(Millis::from_seconds(seconds))))
    }

    /// The delay after failure number `failures`, with the earliest jitter.
    fn wait_after(failures: u32, outcome: &Outcome, policy: &Policy) -> u64 {
        let claimed = claimed(failures - 1, 100);
        match decide(&claimed, outcome, policy, NOW, Jitter(0)) {
            Transition::Retry { next_retry_at } => next_retry_at.since(NOW).get(),
            other @ (Transition::Deliver | Transition::Die { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_receiver_that_asks_for_seconds_does_not_use_up_a_schedule_of_days() {
        let settings = RetrySettings {
            profile: Profile::Standard,
            jitter_bps: Some(0),
            ..RetrySettings::default()
        };
        let policy = settings.policy(RuntimeRetry::default());
        let whole: u64 = (1..settings.max_attempts())
            .map(|failures| wait_after(failures, &ask(7, 429), &policy))
            .sum();
        // The first delay is 7 s instead of 5 s.
        assert_eq!(whole, (75 * 3600 + 35 * 60 + 7) * 1000);
    }

    #[test]
    fn a_retry_policy_says_how_retry_after_counts() {
        for classifier in Classifier::ALL {
            let wait = |retry_after, seconds| {
                let settings = RetrySettings {
                    delays_seconds: Some(vec![30]),
                    max_backoff_seconds: Some(100),
                    jitter_bps: Some(1000),
                    classifier: Some(classifier),
                    retry_after: Some(retry_after),
                    ..RetrySettings::default()
                };
                let policy = settings.policy(RuntimeRetry::default());
                wait_after(1, &ask(seconds, 503), &policy)
            };
            for (seconds, instead, at_least) in
                [(0, 1, 27), (7, 7, 27), (60, 60, 60), (999, 100, 100)]
            {
                let waits = OnRetryAfter::ALL.map(|rule| wait(rule, seconds) / 1000);
                assert_eq!(waits, [instead, at_least, 27], "{classifier:?} {seconds} s");
            }
        }
    }

    #[test]
    fn retry_after_counts_with_429_and_503_only_and_is_clamped() {
        let wait = |profile, outcome: &Outcome| wait_after(1, outcome, &policy(profile));
        assert_eq!(wait(Profile::PublicApi, &ask(60, 429)), 60_000);
        assert_eq!(wait(Profile::PublicApi, &ask(60, 503)), 60_000);
        assert_eq!(wait(Profile::PublicApi, &ask(0, 429)), 1_000);
        assert_eq!(wait(Profile::PublicApi, &ask(u64::MAX, 429)), 86_400_000);
        assert_eq!(
            wait(Profile::PublicApi, &ask(60, 500)),
            4_500,
            "only 429 and 503 may ask"
        );
        assert_eq!(
            wait(Profile::Gateway, &ask(60, 429)),
            30_000,
            "`gateway` keeps the exact schedule"
        );
        let at = status(
            503,
            Some(RetryAfter::At(NOW.plus(Millis::from_seconds(90)))),
        );
        assert_eq!(wait(Profile::PublicApi, &at), 90_000);
        let past = status(
            503,
            Some(RetryAfter::At(NOW.minus(Millis::from_seconds(90)))),
        );
        assert_eq!(wait(Profile::PublicApi, &past), 1_000);
    }

    #[test]
    fn exhaustion_follows_the_profile() {
        let last = decide(
            &claimed(4, 5),
            &status(500, None),
            &policy(Profile::Gateway),
            NOW,
            Jitter(0),
        );
        assert_eq!(
            last,
            Transition::Die {
                cause: DeadCause::Exhausted
            }
        );
        let last = decide(
            &claimed(5, 6),
            &status(500, None),
            &policy(Profile::PublicApi),
            NOW,
            Jitter(0),
        );
        assert_eq!(
            last,
            Transition::Die {
                cause: DeadCause::ExhaustedFailingWebhook
            }
        );
    }

    prop_compose! {
        fn any_outcome()(pick in 0..8u8, code: u16, seconds: u64, ask: bool) -> Outcome {
            match pick {
                0 => failure(FailureKind::Timeout),
                1 => failure(FailureKind::Dns),
                2 => failure(FailureKind::Malformed),
                3 => failure(FailureKind::Blocked),
                4 => failure(FailureKind::Tls),
                _ => status(code, ask.then_some(RetryAfter::Delay(Millis::new(seconds)))),
            }
        }
    }

    prop_compose! {
        fn any_policy()(pick in 0..4usize, budget in 0..20u32, bps in 0..=10_000u16, backoff in 1..=604_800u32,
                        after in 0..3usize, delays in proptest::collection::vec(1..=604_800u32, 1..20)) -> Policy {
            let settings = RetrySettings {
                profile: Profile::ALL[pick],
                delays_seconds: Some(delays),
                jitter_bps: Some(bps),
                max_backoff_seconds: Some(backoff),
                retry_after: Some(OnRetryAfter::ALL[after]),
                ..RetrySettings::default()
            };
            settings.policy(RuntimeRetry { jitter_bps: None, budget: RetryBudget(budget) })
        }
    }

    proptest! {
        #[test]
        fn no_input_overflows_and_every_wait_is_bounded(
            count: u32, max: u32, outcome in any_outcome(), policy in any_policy(), now: i64, drawn: u32,
        ) {
            let now = Timestamp::from_millis(now);
            if let Transition::Retry { next_retry_at } = decide(&claimed(count, max), &outcome, &policy, now, Jitter(drawn)) {
                let longest = now.plus(policy.max_backoff);
                prop_assert!(next_retry_at <= longest && (next_retry_at > now || now.as_millis() == i64::MAX));
                prop_assert!(count.saturating_add(1) < policy.budget.effective_max(max));
            }
        }

        #[test]
        fn any_sequence_of_outcomes_ends_within_the_maximum(
            outcomes in proptest::collection::vec(any_outcome(), 100), max in 1..=100u32, policy in any_policy(),
        ) {
            let mut count = 0;
            for outcome in outcomes {
                let transition = decide(&claimed(count, max), &outcome, &policy, NOW, Jitter::NONE);
                count += 1;
                if !matches!(transition, Transition::Retry { .. }) {
                    break;
                }
            }
            prop_assert!(count <= policy.budget.effective_max(max));
        }
    }
}
