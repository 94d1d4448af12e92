//! What one attempt sends.

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};

use bytes::Bytes;
use url::Url;

use crate::delivery::Delivery;
use crate::egress::MAX_URL_CHARS;
use crate::event::{Event, Label};
use crate::signature;
use crate::template::{Facts, RenderError, TemplatePart};
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
    /// The event's own bytes.
    #[must_use]
    pub fn plain(event: &Event) -> Self {
        Self {
            body: event.body.clone(),
            content_type: event.content_type.clone(),
            query: None,
        }
    }

    /// # Errors
    /// The webhook has a template, and it cannot be rendered for this event, or the URL becomes too long with its query.
    pub fn of(event: &Event, webhook: &Webhook) -> Result<Self, RenderError> {
        let Some(template) = &webhook.settings.template else {
            return Ok(Self::plain(event));
        };
        let rendered = template.render(&event.body, &Facts::of(event, webhook))?;
        let content = Self {
            body: rendered.body,
            content_type: rendered.content_type,
            query: rendered.query,
        };
        // Egress would block such a request, which counts against the webhook, and name no cause.
        let chars = content.url(&webhook.settings.target_url).as_str().len();
        if chars > MAX_URL_CHARS {
            return Err(RenderError {
                part: TemplatePart::Query,
                line: None,
                reason: format!(
                    "the URL has {chars} characters with this query; at most {MAX_URL_CHARS} are allowed"
                ),
            });
        }
        Ok(content)
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::egress::Rules;
    use crate::event::Origin;
    use crate::health::Health;
    use crate::ids::{EventId, TenantId, WebhookId};
    use crate::secret::{SecretRing, SigningSecret};
    use crate::template::TemplateDraft;
    use crate::webhook::WebhookDraft;

    const TARGET: &str = "https://receiver.example/hook?own=1";

    /// With a template that adds to the query.
    pub(crate) fn webhook() -> Webhook {
        let template = TemplateDraft {
            body: "{}".to_owned(),
            query: Some("q={{ payload.q }}".to_owned()),
            ..TemplateDraft::default()
        };
        let draft = WebhookDraft {
            name: "w".to_owned(),
            target_url: TARGET.to_owned(),
            event_types: vec!["*".to_owned()],
            template: Some(template),
            ..WebhookDraft::default()
        };
        Webhook {
            id: WebhookId::from_bytes([1; 16]),
            tenant: TenantId::default(),
            settings: draft.check(&Rules::default()).unwrap(),
            secrets: SecretRing::new(SigningSecret::from_key(&[1; 32])),
            created_at: Timestamp::ZERO,
            updated_at: Timestamp::ZERO,
            health: Health::default(),
        }
    }

    /// What is sent for a payload whose `q` has this many characters.
    fn content(chars: usize) -> Result<Content, RenderError> {
        let event = Event {
            id: EventId::from_bytes([2; 16]),
            tenant: TenantId::default(),
            event_type: "order.paid".parse().unwrap(),
            session_id: None,
            content_type: "application/json".parse().unwrap(),
            body: Bytes::from(format!("{{\"q\": \"{}\"}}", "x".repeat(chars))),
            origin: Origin::Test,
            created_at: Timestamp::ZERO,
        };
        Content::of(&event, &webhook())
    }

    #[test]
    fn a_template_adds_to_the_query_of_the_url() {
        let content = content(1).unwrap();
        for (target, called) in [
            ("https://h.example/", "https://h.example/?q=x"),
            ("https://h.example/?", "https://h.example/?q=x"),
            ("https://h.example/?own=1", "https://h.example/?own=1&q=x"),
        ] {
            assert_eq!(content.url(&target.parse().unwrap()).as_str(), called);
        }
    }

    #[test]
    fn a_query_that_makes_the_url_too_long_is_an_error_of_the_template() {
        let longest = MAX_URL_CHARS - TARGET.len() - "&q=".len();
        let target: Url = TARGET.parse().unwrap();
        let url = content(longest).unwrap().url(&target);
        assert_eq!(url.as_str().len(), MAX_URL_CHARS);
        assert_eq!(Rules::default().check(&url), Ok(()));
        let error = content(longest + 1).unwrap_err();
        assert_eq!(error.part, TemplatePart::Query);
        assert_eq!(
            error.to_string(),
            "query: the URL has 2049 characters with this query; at most 2048 are allowed"
        );
    }
}
