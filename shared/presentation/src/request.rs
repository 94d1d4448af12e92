//! The last request, as far as it is known.

use postrider_api_types::delivery::{HeaderView, RequestView};
use postrider_api_types::webhook::{HIDDEN, shown_headers};
use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, Label};
use postrider_domain::request::Content;
use postrider_domain::webhook::Webhook;
use url::Url;

/// The last request, or the first one if there was none yet.
pub struct Sent {
    pub url: String,
    pub headers: Vec<(String, String)>,
    /// What the webhook's template, as it is now, makes of the payload.
    pub body: Option<String>,
    pub was_attempted: bool,
}

impl Sent {
    /// The headers of the last attempt, or of the first one to come. The webhook's own headers are those it has now,
    /// without what looks like a credential. Signatures are hidden, and the version of the gateway that sent the request
    /// is not stored.
    #[must_use]
    pub fn of(row: &Delivery, event: Option<&Event>, webhook: Option<&Webhook>) -> Self {
        let templated = webhook.filter(|webhook| webhook.settings.template.is_some());
        let rendered = event
            .zip(templated)
            .and_then(|(event, webhook)| Content::of(event, webhook).ok());
        let mut headers = vec![("webhook-id".to_owned(), row.id.to_string())];
        let mut set = |name: &str, value: String| headers.push((name.to_owned(), value));
        if let Some(at) = row.last_attempted_at {
            set("webhook-timestamp", at.as_seconds().to_string());
            set("webhook-signature", format!("v1,{HIDDEN}"));
            set("x-observatory-signature", format!("sha256={HIDDEN}"));
            set("x-webhook-signature", format!("sha256={HIDDEN}"));
            // A retry by an operator restarts the count: until the next attempt, the number that the last one sent is
            // not known.
            if let Some(retries) = row.attempt_count.checked_sub(1) {
                set("x-webhook-retry", retries.to_string());
            }
        }
        set("x-webhook-event", row.event_type.as_str().to_owned());
        for (name, label) in [
            ("x-webhook-session", &row.session_id),
            ("x-webhook-intent", &row.intent),
        ] {
            if let Some(label) = label {
                set(name, Label::as_str(label).to_owned());
            }
        }
        let of_template = rendered.as_ref().map(|content| &content.content_type);
        if let Some(content_type) = of_template.or(event.map(|event| &event.content_type)) {
            set("content-type", content_type.as_str().to_owned());
        }
        set("user-agent", "Postrider (version not stored)".to_owned());
        if let Some(webhook) = webhook {
            headers.extend(shown_headers(&webhook.settings.headers));
        }
        let url = rendered.as_ref().and_then(|content| {
            let target = Url::parse(&row.target_url).ok()?;
            Some(content.url(&target).to_string())
        });
        Self {
            url: url.unwrap_or_else(|| row.target_url.clone()),
            headers,
            body: rendered.map(|content| String::from_utf8_lossy(&content.body).into_owned()),
            was_attempted: row.last_attempted_at.is_some(),
        }
    }
}

impl From<Sent> for RequestView {
    fn from(sent: Sent) -> Self {
        let headers = sent.headers.into_iter();
        Self {
            target_url: sent.url,
            body: sent.body,
            headers: headers
                .map(|(name, value)| HeaderView { name, value })
                .collect(),
        }
    }
}
