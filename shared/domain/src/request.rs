//! What one attempt sends.

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};

use bytes::Bytes;
use url::Url;

use crate::delivery::Delivery;
use crate::event::{Event, Label};
use crate::signature;
use crate::template::{Facts, RenderError};
use crate::time::Timestamp;
use crate::webhook::Webhook;

const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
const X_OBSERVATORY_SIGNATURE: HeaderName = HeaderName::from_static("x-observatory-signature");
const X_WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("x-webhook-signature");
/// Headers that sign only the body. Such a signature is valid for as long as its secret.
pub(crate) const TIMELESS_SIGNATURES: [HeaderName; 2] =
    [X_OBSERVATORY_SIGNATURE, X_WEBHOOK_SIGNATURE];
const X_WEBHOOK_RETRY: HeaderName = HeaderName::from_static("x-webhook-retry");
const X_WEBHOOK_EVENT: HeaderName = HeaderName::from_static("x-webhook-event");
const X_WEBHOOK_SESSION: HeaderName = HeaderName::from_static("x-webhook-session");
const X_WEBHOOK_INTENT: HeaderName = HeaderName::from_static("x-webhook-intent");

/// What an attempt sends: the event's own bytes, or what the webhook's template makes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    pub body: Bytes,
    pub content_type: Label,
    /// From the template; added to the query of the URL.
    pub query: Option<String>,
}

impl Content {
    /// # Errors
    /// The webhook has a template, and it cannot be rendered for this event.
    pub fn of(event: &Event, webhook: &Webhook) -> Result<Self, RenderError> {
        let Some(template) = &webhook.settings.template else {
            return Ok(Self {
                body: event.body.clone(),
                content_type: event.content_type.clone(),
                query: None,
            });
        };
        let rendered = template.render(&event.body, &Facts::of(event, webhook))?;
        Ok(Self {
            body: rendered.body,
            content_type: rendered.content_type,
            query: rendered.query,
        })
    }

    /// The URL of a request to `target`.
    #[must_use]
    pub fn url(&self, target: &Url) -> Url {
        let mut url = target.clone();
        if let Some(query) = &self.query {
            let whole = match target.query() {
                Some(own) if !own.is_empty() => format!("{own}&{query}"),
                Some(_) | None => query.clone(),
            };
            url.set_query(Some(&whole));
        }
        url
    }
}

/// The headers of an attempt, and the plain signature that the row stores.
#[derive(Debug)]
pub struct SignedHeaders {
    /// All headers except those of the transport.
    pub headers: HeaderMap,
    /// `sha256=<hex>` of the body.
    pub signature: String,
}

/// The headers of one attempt of `row` at `now`, signed with the webhook's current secrets.
#[must_use]
pub fn signed_headers(
    row: &Delivery,
    content: &Content,
    webhook: &Webhook,
    now: Timestamp,
) -> SignedHeaders {
    let seconds = now.as_seconds();
    let id = row.id.to_string();
    let signature = signature::plain(&webhook.secrets.current, &content.body);
    let standard = signature::standard(webhook.secrets.live(now), &id, seconds, &content.body);
    let mut headers = HeaderMap::with_capacity(16);
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(WEBHOOK_ID, &id);
    set(WEBHOOK_TIMESTAMP, &seconds.to_string());
    set(WEBHOOK_SIGNATURE, &standard);
    set(X_OBSERVATORY_SIGNATURE, &signature);
    set(X_WEBHOOK_SIGNATURE, &signature);
    set(X_WEBHOOK_RETRY, &row.attempt_count.to_string());
    set(X_WEBHOOK_EVENT, row.event_type.as_str());
    for (name, label) in [
        (X_WEBHOOK_SESSION, &row.session_id),
        (X_WEBHOOK_INTENT, &row.intent),
    ] {
        if let Some(label) = label {
            set(name, Label::as_str(label));
        }
    }
    set(CONTENT_TYPE, content.content_type.as_str());
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("Postrider/", env!("CARGO_PKG_VERSION"))),
    );
    for (name, value) in webhook.settings.headers.iter() {
        headers.insert(name.clone(), value.clone());
    }
    SignedHeaders { headers, signature }
}
