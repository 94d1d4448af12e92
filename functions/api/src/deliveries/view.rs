//! Deliveries as they are shown.

use data_encoding::BASE64;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{DeadCause, Delivery, Status};
use postrider_domain::event::{Event, Label};
use postrider_domain::ids::{DeliveryId, EventId, WebhookId};
use postrider_domain::key::{ApiKey, Scope};
use postrider_domain::outcome::Timings;
use serde::Serialize;
use utoipa::ToSchema;

use super::request::Sent;
use crate::openapi::words_or_null;
use crate::views::Time;
use crate::why::Why;

/// Stands for a signature that may not be seen.
const HIDDEN_SIGNATURE: &str = "sha256=***";

/// One event for one webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delivery)]
pub(crate) struct DeliveryView {
    #[schema(value_type = String)]
    id: DeliveryId,
    #[schema(value_type = String)]
    event_id: EventId,
    event_type: String,
    #[schema(value_type = String)]
    webhook_id: WebhookId,
    #[schema(required)]
    session_id: Option<String>,
    /// The URL last used, or the webhook's when it was accepted.
    target_url: String,
    /// The `sha256=…` signature last used; `sha256=***` for a key without the scope `manage`.
    signature: String,
    #[schema(schema_with = super::statuses)]
    status: Status,
    /// Attempts since it was accepted or put back.
    attempt_count: u32,
    max_attempts: u32,
    #[schema(required)]
    last_attempted_at: Option<Time>,
    #[schema(required)]
    next_retry_at: Option<Time>,
    created_at: Time,
    /// What went wrong last.
    #[schema(required)]
    error_detail: Option<String>,
    /// Why it is dead.
    #[schema(schema_with = dead_causes, required)]
    dead_cause: Option<DeadCause>,
}

fn dead_causes() -> utoipa::openapi::Object {
    words_or_null(DeadCause::ALL.map(DeadCause::as_str))
}

/// A row as the holder of this key may see it. Whoever has a body with its signature can send both to the receiver as
/// often as they like: that is no looking.
pub(crate) fn seen_with(key: &ApiKey, row: Delivery) -> Delivery {
    let is_hidden = !key.allows(Scope::Manage) && !row.signature.is_empty();
    Delivery {
        signature: if is_hidden {
            HIDDEN_SIGNATURE.to_owned()
        } else {
            row.signature
        },
        ..row
    }
}

impl DeliveryView {
    pub(crate) fn of(row: &Delivery) -> Self {
        Self {
            id: row.id,
            event_id: row.id.event,
            event_type: row.event_type.as_str().to_owned(),
            webhook_id: row.id.webhook,
            session_id: row.session_id.as_ref().map(text),
            target_url: row.target_url.clone(),
            signature: row.signature.clone(),
            status: row.status,
            attempt_count: row.attempt_count,
            max_attempts: row.max_attempts,
            last_attempted_at: row.last_attempted_at.map(Time),
            next_retry_at: row.next_retry_at.map(Time),
            created_at: Time(row.created_at),
            error_detail: row.error_detail.clone(),
            dead_cause: row.dead_cause,
        }
    }
}

fn text(label: &Label) -> String {
    label.as_str().to_owned()
}

/// A page of deliveries, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryPage {
    pub(super) items: Vec<DeliveryView>,
    /// Where to go on; `null` at the end. A page may be short, even empty, and still have one.
    #[schema(required)]
    pub(super) next_cursor: Option<String>,
}

/// A delivery with its payload and attempts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeliveryDetail {
    #[serde(flatten)]
    delivery: DeliveryView,
    #[schema(required)]
    content_type: Option<String>,
    /// The body that is sent; `null` when it is not text.
    #[schema(required)]
    payload: Option<String>,
    /// The body that is sent, in base64, when it is not text.
    #[schema(required)]
    payload_base64: Option<String>,
    /// The first one first.
    attempts: Vec<AttemptView>,
    /// Why it has not arrived; `null` when it has, or when nobody has attempted it yet.
    #[schema(required)]
    why: Option<Why>,
    request: RequestView,
}

/// The request as it was sent last, or is to be sent first.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = DeliveryRequest)]
pub(crate) struct RequestView {
    target_url: String,
    /// What looks like a credential, and what is not kept, is shown as `***`.
    headers: Vec<HeaderView>,
}

/// One header of a request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeliveryHeader)]
pub(crate) struct HeaderView {
    name: String,
    value: String,
}

impl DeliveryDetail {
    pub(crate) fn of(row: &Delivery, event: Option<&Event>, attempts: Vec<Attempt>) -> Self {
        let body = event.map(|event| &event.body);
        let payload = body.and_then(|body| std::str::from_utf8(body).ok());
        let payload_base64 = match payload {
            Some(_) => None,
            None => body.map(|body| BASE64.encode(body)),
        };
        Self {
            delivery: DeliveryView::of(row),
            content_type: event.map(|event| text(&event.content_type)),
            payload: payload.map(str::to_owned),
            payload_base64,
            attempts: attempts.into_iter().map(AttemptView::from).collect(),
            why: None,
            request: RequestView::default(),
        }
    }

    /// With why it has not arrived, and the request.
    pub(crate) fn told(mut self, why: Option<Why>, sent: Sent) -> Self {
        self.why = why;
        let headers = sent.headers.into_iter();
        self.request = RequestView {
            target_url: sent.url,
            headers: headers
                .map(|(name, value)| HeaderView { name, value })
                .collect(),
        };
        self
    }
}

/// One POST of a delivery, with what came back.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct AttemptView {
    /// 1 for the first ever; numbers go on after a retry by hand.
    number: u32,
    at: Time,
    /// `null` when no status line arrived.
    #[schema(required)]
    status_code: Option<u16>,
    elapsed_ms: u32,
    /// Why it failed, in plain words.
    #[schema(required)]
    error: Option<String>,
    /// The phase in which it failed: check, dns, connect, tls, first_byte or body.
    #[schema(required)]
    phase: Option<String>,
    /// The start of the response of a failed attempt.
    #[schema(required)]
    response_body: Option<String>,
    timings: TimingsView,
}

/// Where the time of an attempt went. A phase that did not happen is `null`: a reused connection has no DNS, connect
/// and TLS.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Timings)]
pub(crate) struct TimingsView {
    #[schema(required)]
    dns_ms: Option<u32>,
    #[schema(required)]
    connect_ms: Option<u32>,
    #[schema(required)]
    tls_ms: Option<u32>,
    #[schema(required)]
    first_byte_ms: Option<u32>,
    #[schema(required)]
    body_ms: Option<u32>,
}

impl From<Attempt> for AttemptView {
    fn from(attempt: Attempt) -> Self {
        Self {
            number: attempt.number,
            at: Time(attempt.at),
            status_code: attempt.status_code,
            elapsed_ms: attempt.timings.total_ms,
            error: attempt.error,
            phase: attempt.phase.map(|phase| phase.as_str().to_owned()),
            response_body: attempt.response_body,
            timings: attempt.timings.into(),
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
