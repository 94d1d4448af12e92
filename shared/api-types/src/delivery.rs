//! Deliveries and their attempts.

use data_encoding::BASE64;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{DeadCause, Delivery, Status};
use postrider_domain::event::{Event, Label};
use postrider_domain::flow::WaitingFor;
use postrider_domain::outcome::{Phase, Timings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters;
use crate::schema;
use crate::time::ApiTime;
use crate::why::WhyView;
use crate::word::Word;

/// How many deliveries a page has unless the request says otherwise.
pub const DEFAULT_PAGE: usize = 50;
pub const MAX_PAGE: usize = 200;
/// Longer than any cursor of any store.
pub const MAX_CURSOR_BYTES: usize = 2048;

parameters! {
    /// Which part of a list.
    pub struct PageParameters as "Page" {
        /// The maximum number of deliveries; 50 by default.
        limit: schema::PageLimit,
        /// The `next_cursor` of the previous page.
        cursor: schema::Cursor,
    }
}

/// The delivery of one event to one webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Delivery)]
pub struct DeliveryView {
    #[schema(value_type = schema::DeliveryId)]
    pub id: String,
    #[schema(value_type = schema::EventId)]
    pub event_id: String,
    pub event_type: String,
    #[schema(value_type = schema::WebhookId)]
    pub webhook_id: String,
    #[schema(required)]
    pub session_id: Option<String>,
    /// The URL used last, or the webhook's URL when the event was accepted.
    pub target_url: String,
    /// The `sha256=…` signature used last; `sha256=***` for a key without the scope `manage`.
    pub signature: String,
    #[schema(value_type = schema::DeliveryStatus)]
    pub status: Word<Status>,
    /// Attempts since it was accepted or retried by an operator.
    pub attempt_count: u32,
    pub max_attempts: u32,
    #[schema(required)]
    pub last_attempted_at: Option<ApiTime>,
    #[schema(required)]
    pub next_retry_at: Option<ApiTime>,
    /// Why an open delivery is not being attempted: it waits for `next_retry_at` (`retry_time`), for its paused, failed or
    /// disabled webhook to be resumed (`webhook_resume`), or for the webhook's rate limit (`rate_limit`). `null` if it is
    /// delivered, dead, in flight or about to be attempted.
    #[schema(required, value_type = Option<schema::WaitingFor>)]
    pub waiting_for: Option<Word<WaitingFor>>,
    pub created_at: ApiTime,
    /// The most recent error.
    #[schema(required)]
    pub error_detail: Option<String>,
    /// Why it is dead.
    #[schema(required, value_type = Option<schema::DeadCause>)]
    pub dead_cause: Option<Word<DeadCause>>,
}

impl DeliveryView {
    #[must_use]
    pub fn of(row: &Delivery, waiting_for: Option<WaitingFor>) -> Self {
        Self {
            id: row.id.to_string(),
            event_id: row.id.event.to_string(),
            event_type: row.event_type.as_str().to_owned(),
            webhook_id: row.id.webhook.to_string(),
            session_id: row.session_id.as_ref().map(text),
            target_url: row.target_url.clone(),
            signature: row.signature.clone(),
            status: row.status.into(),
            attempt_count: row.attempt_count,
            max_attempts: row.max_attempts,
            last_attempted_at: row.last_attempted_at.map(ApiTime),
            next_retry_at: row.next_retry_at.map(ApiTime),
            waiting_for: waiting_for.map(Word::from),
            created_at: ApiTime(row.created_at),
            error_detail: row.error_detail.clone(),
            dead_cause: row.dead_cause.map(Word::from),
        }
    }
}

pub(crate) fn text(label: &Label) -> String {
    label.as_str().to_owned()
}

impl DeliveryView {
    /// Whether nothing more happens unless an operator retries it.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.status.known().is_some_and(|status| !status.is_open())
    }

    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.status == Status::Delivered
    }

    /// Whether it is on hold until its webhook is resumed.
    #[must_use]
    pub fn is_on_hold(&self) -> bool {
        self.waiting_for
            .as_ref()
            .is_some_and(|reason| *reason == WaitingFor::WebhookResume)
    }
}

/// A page of deliveries, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryPage {
    pub items: Vec<DeliveryView>,
    /// Where to continue; `null` at the end. A page may be short, even empty, and still have one.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// A longer payload is shown in base64. As text, escaped in JSON and again in the response of a function, it could exceed
/// the 6 MB that Lambda returns.
const MAX_TEXT_BYTES: usize = 512 * 1024;

/// A delivery with its payload and attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeliveryDetail {
    #[serde(flatten)]
    pub delivery: DeliveryView,
    #[schema(required)]
    pub content_type: Option<String>,
    /// The payload of the event, which is also the body that is sent unless the webhook has a template; `null` if it is not UTF-8,
    /// or larger than 512 KiB.
    #[schema(required)]
    pub payload: Option<String>,
    /// The payload in base64, if it is not UTF-8, or larger than 512 KiB.
    #[schema(required)]
    pub payload_base64: Option<String>,
    /// In order, oldest first.
    #[serde(default)]
    #[schema(required)]
    pub attempts: Vec<AttemptView>,
    /// Why it has not arrived; `null` if it has, or if it has not been attempted yet.
    #[schema(required)]
    pub why: Option<WhyView>,
    #[serde(default)]
    #[schema(required)]
    pub request: RequestView,
}

impl DeliveryDetail {
    #[must_use]
    pub fn new(
        delivery: DeliveryView,
        event: Option<&Event>,
        attempts: Vec<Attempt>,
        why: Option<WhyView>,
        request: RequestView,
    ) -> Self {
        let (payload, payload_base64) = event.map_or((None, None), |event| shown(&event.body));
        Self {
            delivery,
            content_type: event.map(|event| text(&event.content_type)),
            payload,
            payload_base64,
            attempts: attempts.into_iter().map(AttemptView::from).collect(),
            why,
            request,
        }
    }
}

/// A body as text, or in base64.
pub(crate) fn shown(body: &[u8]) -> (Option<String>, Option<String>) {
    let short = Some(body).filter(|body| body.len() <= MAX_TEXT_BYTES);
    match short.and_then(|body| std::str::from_utf8(body).ok()) {
        Some(text) => (Some(text.to_owned()), None),
        None => (None, Some(BASE64.encode(body))),
    }
}

/// The request as it was sent last, or as it will be sent first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeliveryRequest)]
pub struct RequestView {
    pub target_url: String,
    /// Values that look like credentials, and values that are not stored, are shown as `***`.
    pub headers: Vec<HeaderView>,
    /// What the webhook's template, as it is now, makes of the payload; `null` without a template, or if it cannot be rendered.
    #[serde(default)]
    #[schema(required)]
    pub body: Option<String>,
}

/// One header of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeliveryHeader)]
pub struct HeaderView {
    pub name: String,
    pub value: String,
}

/// One POST of a delivery and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Attempt)]
pub struct AttemptView {
    /// 1 for the first attempt ever; counting continues after a retry by an operator.
    pub number: u32,
    #[serde(flatten)]
    pub reply: ReplyView,
}

/// What came back for a POST.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Reply)]
pub struct ReplyView {
    pub at: ApiTime,
    /// `null` if no status line arrived.
    #[schema(required)]
    pub status_code: Option<u16>,
    pub elapsed_ms: u32,
    /// Why it failed.
    #[schema(required)]
    pub error: Option<String>,
    /// The phase in which it failed.
    #[schema(required, value_type = Option<schema::Phase>)]
    pub phase: Option<Word<Phase>>,
    /// The start of the response, at most 2,048 bytes. `null` for a delivery attempt that succeeded.
    #[schema(required)]
    pub response_body: Option<String>,
    #[serde(default)]
    #[schema(required)]
    pub timings: TimingsView,
}

/// How long each phase of an attempt took. A phase that did not happen is `null`: a reused connection has no DNS, connect
/// and TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Timings)]
pub struct TimingsView {
    #[schema(required)]
    pub dns_ms: Option<u32>,
    #[schema(required)]
    pub connect_ms: Option<u32>,
    #[schema(required)]
    pub tls_ms: Option<u32>,
    #[schema(required)]
    pub first_byte_ms: Option<u32>,
    #[schema(required)]
    pub body_ms: Option<u32>,
}

impl TimingsView {
    /// The phases that happened, in order: name and milliseconds.
    #[must_use]
    pub fn phases(&self) -> Vec<(&'static str, u32)> {
        let phases = [
            ("dns", self.dns_ms),
            ("connect", self.connect_ms),
            ("tls", self.tls_ms),
            ("first byte", self.first_byte_ms),
            ("body", self.body_ms),
        ];
        let happened = phases
            .into_iter()
            .filter_map(|(phase, ms)| Some((phase, ms?)));
        happened.collect()
    }
}

impl From<Attempt> for AttemptView {
    fn from(attempt: Attempt) -> Self {
        Self {
            number: attempt.number,
            reply: ReplyView {
                at: ApiTime(attempt.at),
                status_code: attempt.status_code,
                elapsed_ms: attempt.timings.total_ms,
                error: attempt.error,
                phase: attempt.phase.map(Word::from),
                response_body: attempt.response_body,
                timings: attempt.timings.into(),
            },
        }
    }
}

impl From<Timings> for TimingsView {
    fn from(timings: Timings) -> Self {
        Self {
            dns_ms: timings.dns_ms,
            connect_ms: timings.connect_ms,
            tls_ms: timings.tls_ms,
            first_byte_ms: timings.first_byte_ms,
            body_ms: timings.body_ms,
        }
    }
}

/// How to retry one delivery.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryNow {
    /// Send it even if it was delivered.
    #[serde(default)]
    pub force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Lambda returns at most.
    const RESPONSE_BYTES: usize = 6 * 1024 * 1024;

    #[test]
    fn a_body_is_text_if_it_is_short_and_base64_otherwise() {
        let text = "x".repeat(MAX_TEXT_BYTES);
        assert_eq!(shown(text.as_bytes()), (Some(text), None));
        let longer = vec![b'x'; MAX_TEXT_BYTES + 1];
        assert_eq!(shown(&longer), (None, Some(BASE64.encode(&longer))));
        assert_eq!(shown(b"\xff"), (None, Some("/w==".to_owned())));
    }

    /// Escaped in the document, and again in the response of the function.
    #[test]
    fn the_worst_body_fits_into_the_response_of_a_function() {
        for body in [
            vec![1; MAX_TEXT_BYTES],
            vec![b'"'; MAX_TEXT_BYTES],
            vec![7; postrider_domain::event::MAX_BODY_BYTES],
        ] {
            let document = serde_json::to_string(&shown(&body)).unwrap();
            let response = serde_json::to_string(&document).unwrap();
            assert!(response.len() + 256 * 1024 < RESPONSE_BYTES);
        }
    }
}
