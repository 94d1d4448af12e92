//! The request as it was sent last, as far as it is known.

use postrider_domain::delivery::Delivery;
use postrider_domain::event::{Event, Label};
use postrider_domain::headers::CustomHeaders;
use postrider_domain::webhook::Webhook;

/// Stands for a value that looks like a credential, or that is not kept.
const HIDDEN: &str = "***";

/// What was sent.
pub(crate) struct Sent {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) was_attempted: bool,
}

impl Sent {
    /// The headers of the last attempt, or of the first one to come. The webhook's own are those it has now, without what
    /// looks like a credential; the signatures of Standard Webhooks are not kept.
    pub(crate) fn of(row: &Delivery, event: Option<&Event>, webhook: Option<&Webhook>) -> Self {
        let mut headers = vec![("webhook-id".to_owned(), row.id.to_string())];
        let mut set = |name: &str, value: String| headers.push((name.to_owned(), value));
        if let Some(at) = row.last_attempted_at {
            set("webhook-timestamp", at.as_seconds().to_string());
            set("webhook-signature", format!("v1,{HIDDEN}"));
            set("x-webhook-signature", row.signature.clone());
            set(
                "x-webhook-retry",
                row.attempt_count.saturating_sub(1).to_string(),
            );
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
        for (name, value) in webhook
            .iter()
            .flat_map(|webhook| webhook.settings.headers.iter())
        {
            let shown = value
                .to_str()
                .ok()
                .filter(|_| !CustomHeaders::is_revealing(name));
            set(name.as_str(), shown.unwrap_or(HIDDEN).to_owned());
        }
        Self {
            url: row.target_url.clone(),
            headers,
            was_attempted: row.last_attempted_at.is_some(),
        }
    }
}
