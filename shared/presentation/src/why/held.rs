//! The delivery waits: for its webhook to be resumed, or for the webhook's rate limit.

use postrider_domain::health::WebhookStatus;
use postrider_domain::pace::Pace;
use postrider_domain::webhook::Webhook;

use super::{Explanation, RECREATE};

pub(super) fn explain(webhook: Option<&Webhook>, pace: Pace) -> Explanation {
    let Some(webhook) = webhook else {
        return (
            "The webhook was deleted".to_owned(),
            "This delivery was on hold when its webhook was deleted.".to_owned(),
            vec![RECREATE.to_owned()],
        );
    };
    let (title, state, advice) = match webhook.health.status {
        WebhookStatus::Active => return rate_limited(webhook, pace),
        WebhookStatus::Paused => (
            "On hold: the webhook is paused",
            "was paused by an operator",
            "Resume the webhook. Deliveries on hold then go out automatically.",
        ),
        WebhookStatus::Failed => (
            "On hold: the webhook has failed",
            "has failed and needs an operator",
            FIX_AND_RESUME,
        ),
        WebhookStatus::Disabled => (
            "On hold: the webhook is disabled",
            "is disabled",
            FIX_AND_RESUME,
        ),
    };
    (
        title.to_owned(),
        format!(
            "Nothing is wrong with this delivery. Its webhook {state}, and deliveries are held until it is resumed."
        ),
        vec![advice.to_owned()],
    )
}

const FIX_AND_RESUME: &str =
    "Fix what stopped the webhook, then resume it. Deliveries on hold then go out automatically.";

/// An active webhook sends as fast as its rate limit allows, and this delivery's turn has not come.
fn rate_limited(webhook: &Webhook, pace: Pace) -> Explanation {
    let configured = webhook.settings.retry_rate;
    let mut meaning = format!(
        "Nothing is wrong with this delivery. It is queued behind the webhook's current rate limit ({}/s).",
        f64::from(pace.rate_milli(configured)) / 1000.0
    );
    if pace.is_slowed(configured) {
        let lowered = format!(
            " The limit is below the configured {configured}/s because the receiver was overloaded or the webhook was just resumed, and it rises as requests succeed."
        );
        meaning.push_str(&lowered);
    }
    (
        "Waiting for the webhook's rate limit".to_owned(),
        meaning,
        vec!["No action needed, unless the receiver can take more: then raise the webhook's `retry_rate`.".to_owned()],
    )
}

pub(super) fn outlook(webhook: Option<&Webhook>) -> &'static str {
    match webhook.map(|webhook| webhook.health.status) {
        Some(WebhookStatus::Active) => "It goes out as soon as the rate limit allows.",
        Some(WebhookStatus::Paused | WebhookStatus::Failed | WebhookStatus::Disabled) => {
            "It goes out when the webhook is resumed."
        }
        None => "It will be marked dead.",
    }
}
