//! A shadow: the request of a delivery, sent once to another URL so that the answers can be compared. Nothing of the
//! delivery changes by it.

mod compare;

use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::attempt::{Attempt, Verdict};
use crate::delivery::Delivery;
use crate::egress::Rules;
use crate::event::Event;
use crate::headers::CustomHeaders;
use crate::invalid::Invalid;
use crate::outcome::{Answer, Outcome, Timings};
use crate::request::{TIMELESS_SIGNATURES, signed_headers};
use crate::time::{Millis, Timestamp};
use crate::webhook::Webhook;

pub use compare::{Aspect, Compared, Likeness, compare};

/// The longest time of a shadow: whoever asks waits for it, and an HTTP API on AWS waits no longer than 30 seconds.
pub const MAX_TIMEOUT_SECONDS: u32 = 20;
/// Tells a receiver that this is a shadow. No webhook may have a header of this name.
pub const HEADER: HeaderName = HeaderName::from_static("postrider-shadow");
/// Stands for a value that is sent and not shown.
const HIDDEN: &str = "***";

/// What somebody asks for, unchecked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShadowDraft {
    /// An https URL that egress rules allow.
    pub url: String,
    /// 1 to 20; the webhook's, up to that, unless set.
    pub timeout_seconds: Option<u32>,
    /// What becomes of headers that are for the webhook's URL alone.
    pub own_headers: OwnHeaders,
}

/// What becomes of headers that are for the webhook's URL alone: those it was given, any of which may be a credential, and
/// the signatures without a time, with which whoever holds them could repeat the request for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnHeaders {
    /// They are left out.
    #[default]
    LeftOut,
    /// They are sent along, because somebody said so.
    Sent,
}

/// What somebody asks for, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowWish {
    /// Where to, as serialised after the check.
    pub target_url: Url,
    /// How long it may take; the webhook's time, up to [`MAX_TIMEOUT_SECONDS`], unless set.
    pub timeout: Option<Millis>,
    /// What becomes of headers that are for the webhook's URL alone.
    pub own_headers: OwnHeaders,
}

impl ShadowDraft {
    /// Checks every field.
    ///
    /// # Errors
    /// All faults at once.
    pub fn check(self, rules: &Rules) -> Result<ShadowWish, Invalid> {
        let mut faults = Invalid::default();
        let target_url = faults.take("url", rules.check_url(&self.url));
        let fits = |seconds| (1..=MAX_TIMEOUT_SECONDS).contains(&seconds);
        faults.require(
            self.timeout_seconds.is_none_or(fits),
            "timeout_seconds",
            || format!("must be 1 to {MAX_TIMEOUT_SECONDS}"),
        );
        let timeout = self.timeout_seconds.map(u64::from);
        match target_url {
            Some(target_url) => {
                faults.into_result()?;
                Ok(ShadowWish {
                    target_url,
                    timeout: timeout.map(Millis::from_seconds),
                    own_headers: self.own_headers,
                })
            }
            None => Err(faults),
        }
    }
}

impl ShadowWish {
    /// How long a shadow of a delivery to this webhook may take.
    #[must_use]
    pub fn timeout_for(&self, webhook: &Webhook) -> Millis {
        let longest = Millis::from_seconds(u64::from(MAX_TIMEOUT_SECONDS));
        self.timeout
            .unwrap_or(webhook.settings.timeout)
            .min(longest)
    }

    /// The names of the headers that are left out.
    #[must_use]
    pub fn left_out(&self, webhook: &Webhook) -> Vec<HeaderName> {
        match self.own_headers {
            OwnHeaders::LeftOut => {
                let given = webhook.settings.headers.iter();
                let given = given.map(|(name, _)| name.clone());
                given.chain(TIMELESS_SIGNATURES).collect()
            }
            OwnHeaders::Sent => Vec::new(),
        }
    }

    /// The headers that an attempt of `row` would have now, but for [those left out](Self::left_out), and
    /// [what tells](HEADER) that it is a shadow.
    #[must_use]
    pub fn headers(
        &self,
        row: &Delivery,
        event: &Event,
        webhook: &Webhook,
        now: Timestamp,
    ) -> HeaderMap {
        let mut headers = signed_headers(row, event, webhook, now).headers;
        for name in self.left_out(webhook) {
            headers.remove(name);
        }
        headers.insert(HEADER, HeaderValue::from_static("true"));
        headers
    }
}

/// Names and values as people may see them: no signature, and nothing that looks like a credential.
#[must_use]
pub fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = headers.iter().map(|(name, value)| {
        let value = value
            .to_str()
            .ok()
            .filter(|_| !CustomHeaders::is_revealing(name));
        (name.as_str().to_owned(), value.unwrap_or(HIDDEN).to_owned())
    });
    shown.collect()
}

/// What a shadow got, told as the record of an attempt tells it, and a little more: nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowReply {
    /// When it was sent.
    pub at: Timestamp,
    /// The status code, if a status line arrived.
    pub status_code: Option<u16>,
    /// Why it is no success, in plain words.
    pub error: Option<String>,
    /// The phase in which it failed.
    pub phase: Option<String>,
    /// Where the time went.
    pub timings: Timings,
    /// The response's `Content-Type`.
    pub content_type: Option<String>,
    /// The start of the response, of a success, too.
    pub response_body: Option<String>,
}

impl ShadowReply {
    /// What came back from a shadow sent at `at`.
    #[must_use]
    pub fn of(at: Timestamp, outcome: &Outcome) -> Self {
        let verdict = match outcome.status() {
            Some(200..=299) => Verdict::Success,
            Some(_) | None => Verdict::Failure,
        };
        let record = Attempt::record(0, 0, at, outcome, verdict);
        let (content_type, response_body) = match &outcome.result {
            Answer::Response(response) => {
                (response.content_type.clone(), Some(response.body.clone()))
            }
            Answer::Failed(_) => (None, None),
        };
        Self {
            at,
            status_code: record.status_code,
            error: record.error,
            phase: record.phase,
            timings: record.timings,
            content_type,
            response_body,
        }
    }

    /// Whether it says «received».
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status_code, Some(200..=299))
    }
}

#[cfg(test)]
mod tests;
