//! The real retry schedule: one claimed delivery per number of attempts, and the outcomes that receivers can cause.

use postrider_domain::decide::{Transition, decide};
use postrider_domain::delivery::{Claimed, Delivery, Lease, LeaseOwner, Status};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Response, Timings};
use postrider_domain::retry::{Jitter, Policy, Profile, RetrySettings, RuntimeRetry};
use postrider_domain::time::{Millis, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    Ok,
    TooMany,
    Unavailable,
    Timeout,
    Refused,
}

pub(crate) struct Schedule {
    policy: Policy,
    claimed: Vec<Claimed>,
}

impl Schedule {
    pub(crate) fn new(profile: Profile) -> Self {
        let settings = RetrySettings {
            profile,
            ..RetrySettings::default()
        };
        let max = settings.max_attempts();
        Self {
            policy: settings.policy(RuntimeRetry::default()),
            claimed: (0..max).map(|attempts| claimed(attempts, max)).collect(),
        }
    }

    pub(crate) fn decide(
        &self,
        attempts_before: usize,
        outcome: &Outcome,
        now: Timestamp,
        jitter: Jitter,
    ) -> Transition {
        let claimed = &self.claimed[attempts_before];
        decide(claimed, outcome, &self.policy, now, jitter)
    }
}

pub(crate) struct Outcomes([Outcome; 5]);

impl Outcomes {
    pub(crate) fn new() -> Self {
        Self([
            status(200),
            status(429),
            status(503),
            failure(FailureKind::Timeout),
            failure(FailureKind::Connect),
        ])
    }

    pub(crate) fn of(&self, said: Said) -> &Outcome {
        &self.0[match said {
            Said::Ok => 0,
            Said::TooMany => 1,
            Said::Unavailable => 2,
            Said::Timeout => 3,
            Said::Refused => 4,
        }]
    }
}

fn status(status: u16) -> Outcome {
    let response = Response {
        status,
        retry_after: None,
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
        detail: String::new(),
    };
    Outcome {
        result: Answer::Failed(failure),
        timings: Timings::default(),
    }
}

fn claimed(attempts: u32, max_attempts: u32) -> Claimed {
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
        attempt_count: attempts,
        attempts_total: attempts,
        max_attempts,
        last_attempted_at: None,
        next_retry_at: None,
        created_at: Timestamp::ZERO,
        error_detail: None,
        last_status: None,
        generation: 0,
        in_backlog: false,
        version: 1,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
    };
    let lease = Lease {
        owner: LeaseOwner {
            process: "simulation".to_owned(),
            claim: 1,
        },
        until: Timestamp::ZERO.plus(Millis::from_seconds(20)),
    };
    row.claim(&lease, Timestamp::ZERO).unwrap()
}
