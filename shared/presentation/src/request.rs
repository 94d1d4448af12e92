//! The last request, as far as it is known.

use postrider_api_types::delivery::{HeaderView, RequestView};
use postrider_api_types::webhook::{HIDDEN, shown_headers};
use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, Label};
use postrider_domain::webhook::Webhook;

/// The last request, or the first one if there was none yet.
pub struct Sent {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub was_attempted: bool,
}

impl Sent {
    /// The headers of the last attempt, or of the first one to come. The webhook's own headers are those it has now,
    /// without what looks like a credential. Signatures are hidden, and the version of the gateway that sent the request
    /// is not stored.
    #[must_use]
    pub fn of(row: &Delivery, event: Option<&Event>, webhook: Option<&Webhook>) -> Self {
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
        if let Some(event) = event {
            set("content-type", event.content_type.as_str().to_owned());
        }
        set("user-agent", "Postrider (version not stored)".to_owned());
        if let Some(webhook) = webhook {
            headers.extend(shown_headers(&webhook.settings.headers));
        }
        Self {
            url: row.target_url.clone(),
            headers,
            was_attempted: row.last_attempted_at.is_some(),
        }
    }
}

impl From<Sent> for RequestView {
    fn from(sent: Sent) -> Self {
        let headers = sent.headers.into_iter();
        Self {
            target_url: sent.url,
            headers: headers
                .map(|(name, value)| HeaderView { name, value })
                .collect(),
        }
    }
}
