//! Why a webhook has its status, as data. The text is written where it is shown.

use std::fmt;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use super::PROBES;

/// Why a webhook has its status. It contains no text from a receiver, because reasons are sent in notifications and
/// e-mails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum StatusReason {
    /// A delivery used up its attempts.
    Exhausted {
        retries: u32,
        error: String,
    },
    /// None of the first attempts after a resume succeeded.
    FailedAfterResume {
        error: String,
    },
    /// The receiver answered 410 under a policy that treats it as permanent.
    Gone,
    /// The receiver answered `webhook-delivery: disable`.
    Declined,
    PausedByOperator,
    /// A probe succeeded.
    AutoResumed,
    /// Stored as text by an earlier version.
    Text {
        text: String,
    },
}

/// Earlier versions stored the text alone; a newer one may store a reason that this one does not know.
pub(super) fn stored<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<StatusReason>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Reason(StatusReason),
        Text(String),
        Unknown(IgnoredAny),
    }
    let stored = Option::<Stored>::deserialize(deserializer)?;
    Ok(stored.and_then(|stored| match stored {
        Stored::Reason(reason) => Some(reason),
        Stored::Text(text) => Some(StatusReason::Text { text }),
        Stored::Unknown(_) => None,
    }))
}

impl fmt::Display for StatusReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { retries, error } => {
                let word = if *retries == 1 { "retry" } else { "retries" };
                write!(f, "a delivery failed after {retries} {word}: {error}")
            }
            Self::FailedAfterResume { error } => {
                write!(
                    f,
                    "the first {PROBES} attempts after the resume failed: {error}"
                )
            }
            Self::Gone => f.write_str("the receiver answered 410 Gone"),
            Self::Declined => f.write_str("the receiver answered webhook-delivery: disable"),
            Self::PausedByOperator => f.write_str("paused by an operator"),
            Self::AutoResumed => f.write_str("resumed automatically: a probe succeeded"),
            Self::Text { text } => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::Health;

    fn read(reason: serde_json::Value) -> Option<StatusReason> {
        let mut stored = serde_json::to_value(Health::default()).unwrap();
        stored["reason"] = reason;
        serde_json::from_value::<Health>(stored).unwrap().reason
    }

    #[test]
    fn a_reason_is_read_as_it_was_stored() {
        let error = "HTTP status 500".to_owned();
        for reason in [
            StatusReason::Exhausted {
                retries: 5,
                error: error.clone(),
            },
            StatusReason::FailedAfterResume { error },
            StatusReason::Gone,
            StatusReason::Declined,
            StatusReason::PausedByOperator,
            StatusReason::AutoResumed,
        ] {
            assert_eq!(read(serde_json::to_value(&reason).unwrap()), Some(reason));
        }
    }

    #[test]
    fn a_text_of_an_earlier_version_is_read_and_an_unknown_reason_is_skipped() {
        let text = read("paused by hand".into()).unwrap();
        assert_eq!(text.to_string(), "paused by hand");
        assert_eq!(read(serde_json::json!({"code": "moved", "to": 7})), None);
        assert_eq!(read(serde_json::Value::Null), None);
    }

    #[test]
    fn one_retry_is_singular() {
        let text = |retries| {
            let error = "timeout".to_owned();
            StatusReason::Exhausted { retries, error }.to_string()
        };
        assert_eq!(text(1), "a delivery failed after 1 retry: timeout");
        assert_eq!(text(5), "a delivery failed after 5 retries: timeout");
    }
}
