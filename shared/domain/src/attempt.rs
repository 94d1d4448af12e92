//! The record of one POST.

use serde::{Deserialize, Serialize};

use crate::delivery::ERROR_DETAIL_BYTES;
use crate::outcome::{Answer, FailureKind, KEPT_BODY_BYTES, Outcome, Phase, Timings};
use crate::time::Timestamp;

/// One POST of a delivery, with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Starts at 1 and keeps counting after a requeue.
    pub number: u32,
    /// The row's version at claim: the attempt's id.
    pub version: u64,
    pub at: Timestamp,
    /// The status code, if a status line arrived.
    pub status_code: Option<u16>,
    pub error: Option<String>,
    /// What kind of failure, if no status line arrived. Attempts stored by earlier versions do not have it.
    #[serde(default)]
    pub kind: Option<FailureKind>,
    /// In which phase it failed, if no status line arrived.
    pub phase: Option<Phase>,
    pub timings: Timings,
    /// The start of the response of a failed attempt.
    pub response_body: Option<String>,
}

impl Attempt {
    #[must_use]
    pub fn record(
        number: u32,
        version: u64,
        at: Timestamp,
        outcome: &Outcome,
        verdict: Verdict,
    ) -> Self {
        let (status_code, error, failure, body) = match (&outcome.result, verdict) {
            (Answer::Response(response), Verdict::Success) => {
                (Some(response.status), None, None, None)
            }
            (Answer::Response(response), Verdict::Failure) => (
                Some(response.status),
                Some(status_error(response.status)),
                None,
                Some(cut(&response.body, KEPT_BODY_BYTES)),
            ),
            (Answer::Failed(failure), _) => (
                None,
                Some(format!("{}: {}", failure.kind, failure.detail)),
                Some((failure.kind, failure.phase)),
                None,
            ),
        };
        Self {
            number,
            version,
            at,
            status_code,
            error,
            kind: failure.map(|(kind, _)| kind),
            phase: failure.map(|(_, phase)| phase),
            timings: outcome.timings,
            response_body: body,
        }
    }

    /// The row's `error_detail` after a failed attempt: the reason and the start of the response.
    #[must_use]
    pub fn error_detail(&self) -> Option<String> {
        let error = self.error.as_deref()?;
        let body = self
            .response_body
            .as_deref()
            .map(str::trim)
            .filter(|body| !body.is_empty());
        let detail = body.map_or_else(|| error.to_owned(), |body| format!("{error}: {body}"));
        Some(cut(&detail, ERROR_DETAIL_BYTES))
    }
}

pub(crate) fn status_error(status: u16) -> String {
    format!("HTTP status {status}")
}

/// Whether an attempt counts as delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Success,
    Failure,
}

/// The start of a text: at most `max` bytes, cut between characters.
fn cut(text: &str, max: usize) -> String {
    text.get(..text.floor_char_boundary(max))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Response;

    #[test]
    fn the_detail_of_a_failure_names_the_status_and_shows_the_start_of_the_response() {
        let response = Response {
            status: 500,
            retry_after: None,
            control: None,
            content_type: None,
            body: "ä".repeat(400),
        };
        let outcome = Outcome {
            result: Answer::Response(response),
            timings: Timings::default(),
        };
        let attempt = Attempt::record(1, 1, Timestamp::ZERO, &outcome, Verdict::Failure);
        let detail = attempt.error_detail().unwrap();
        assert!(detail.starts_with("HTTP status 500: ää") && detail.len() <= ERROR_DETAIL_BYTES);
    }

    #[test]
    fn a_delivered_attempt_keeps_no_body() {
        let response = Response {
            status: 200,
            retry_after: None,
            control: None,
            content_type: None,
            body: "thanks".into(),
        };
        let outcome = Outcome {
            result: Answer::Response(response),
            timings: Timings::default(),
        };
        let attempt = Attempt::record(3, 9, Timestamp::ZERO, &outcome, Verdict::Success);
        assert_eq!(
            (attempt.response_body.as_deref(), attempt.error_detail()),
            (None, None)
        );
    }
}
