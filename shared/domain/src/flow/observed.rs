//! What one attempt says about the speed that its receiver can take.

use serde::{Deserialize, Serialize};

use crate::decide::Transition;
use crate::delivery::DeadCause;
use crate::outcome::{Answer, FailureKind, Outcome};
use crate::time::Timestamp;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub began_at: Timestamp,
    pub ended_at: Timestamp,
    pub observed: Observed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observed {
    Delivered,
    /// 429: the receiver says that it is called too often.
    TooMany,
    /// 503 or a timeout: overload, or an outage.
    Overloaded,
    /// Any other failure that the policy retries.
    Failed,
    /// Not retried, whatever the reason. The receiver answered, so it can take this rate.
    Final,
}

impl Observed {
    /// A delivery that has used up its attempts counts by its last outcome: it says the same about the receiver as one that
    /// is retried.
    #[must_use]
    pub const fn of(outcome: &Outcome, transition: Transition) -> Self {
        match transition {
            Transition::Deliver => Self::Delivered,
            Transition::Retry { .. }
            | Transition::Die {
                cause: DeadCause::Exhausted | DeadCause::ExhaustedFailingWebhook,
            } => Self::of_failure(outcome),
            Transition::Die {
                cause:
                    DeadCause::Rejected
                    | DeadCause::Gone
                    | DeadCause::Aborted
                    | DeadCause::Declined
                    | DeadCause::Blocked
                    | DeadCause::Unrendered
                    | DeadCause::Expired
                    | DeadCause::WebhookDeleted
                    | DeadCause::EventExpired
                    | DeadCause::Erased,
            } => Self::Final,
        }
    }

    const fn of_failure(outcome: &Outcome) -> Self {
        match &outcome.result {
            Answer::Response(response) => match response.status {
                429 => Self::TooMany,
                503 => Self::Overloaded,
                _ => Self::Failed,
            },
            Answer::Failed(failure) => match failure.kind {
                FailureKind::Timeout => Self::Overloaded,
                FailureKind::Dns
                | FailureKind::Connect
                | FailureKind::Reset
                | FailureKind::Tls
                | FailureKind::Malformed
                | FailureKind::Blocked
                | FailureKind::Template => Self::Failed,
            },
        }
    }

    #[must_use]
    pub const fn is_failure(self) -> bool {
        match self {
            Self::Delivered | Self::Final => false,
            Self::TooMany | Self::Overloaded | Self::Failed => true,
        }
    }
}

#[cfg(test)]
mod tests;
