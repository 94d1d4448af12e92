//! Why a delivery has not arrived, and what to do about it.

mod held;
mod network;
mod status;

use postrider_api_types::why::WhyView;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{DeadCause, Delivery, Status};
use postrider_domain::flow::FlowStatus;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;

use self::held::Held;
use crate::redact::without_addresses;

/// Title, meaning and advice.
type Explanation = (String, String, Vec<String>);

/// Explains a delivery that has not arrived. `None` if it was delivered or not attempted yet. Without a webhook, its webhook
/// was deleted.
#[must_use]
pub fn explain(
    row: &Delivery,
    last: Option<&Attempt>,
    webhook: Option<(&Webhook, FlowStatus)>,
    now: Timestamp,
) -> Option<WhyView> {
    let held = Held::of(row, webhook, now);
    let webhook = webhook.map(|(webhook, _)| webhook);
    let (title, meaning, advice) = match (row.status, row.dead_cause) {
        (Status::Delivered, _) => return None,
        (Status::Dead, Some(DeadCause::Expired)) => expired(),
        (Status::Dead, Some(DeadCause::WebhookDeleted)) => deleted(),
        (Status::Dead, Some(DeadCause::EventExpired)) => event_expired(),
        (Status::Dead, Some(DeadCause::Erased)) => erased(),
        (Status::Pending | Status::Failed | Status::Dead, _) => match &held {
            Some(held) => held.explain(),
            None => failed(row, last?, webhook)?,
        },
    };
    Some(WhyView {
        title,
        meaning,
        advice,
        outlook: held.map_or_else(|| outlook(row, webhook), |held| held.outlook().to_owned()),
    })
}

/// The explanation for a customer: without what only an operator can do, and without addresses.
#[must_use]
pub fn for_customers(why: WhyView) -> WhyView {
    let is_theirs = |text: &String| !network::FOR_OPERATORS.contains(&text.as_str());
    let advice = why.advice.into_iter().filter(is_theirs);
    WhyView {
        title: without_addresses(&why.title),
        meaning: without_addresses(&why.meaning),
        advice: advice.map(|text| without_addresses(&text)).collect(),
        outlook: without_addresses(&why.outlook),
    }
}

fn failed(row: &Delivery, attempt: &Attempt, webhook: Option<&Webhook>) -> Option<Explanation> {
    let error = attempt.error.as_deref()?;
    if let Some(status) = attempt.status_code {
        return Some(status::explain(status, row, webhook));
    }
    let detail = error.split_once(": ").map_or(error, |(_, detail)| detail);
    let timeout = webhook.map(|webhook| webhook.settings.timeout.get() / 1000);
    Some(match attempt.kind {
        Some(kind) => network::explain(kind, attempt.phase, detail, &row.target_url, timeout),
        None => (
            "The attempt failed".to_owned(),
            error.to_owned(),
            Vec::new(),
        ),
    })
}

fn deleted() -> Explanation {
    (
        "The webhook was deleted".to_owned(),
        "The webhook was deleted before this delivery arrived.".to_owned(),
        vec![RECREATE.to_owned()],
    )
}

const RECREATE: &str =
    "If the event still matters, recreate the webhook and publish the event again.";

fn expired() -> Explanation {
    (
        "Expired".to_owned(),
        "The retention period ended before this delivery arrived. Usually its webhook was paused or failed the whole time.".to_owned(),
        vec!["Resume webhooks before their deliveries expire, or raise the retention in the configuration.".to_owned()],
    )
}

fn erased() -> Explanation {
    (
        "Erased".to_owned(),
        "The event was erased before this delivery arrived. Its payload and the texts of its attempts are gone.".to_owned(),
        vec!["If the receiver still needs the event, publish it again under another Idempotency-Key.".to_owned()],
    )
}

fn event_expired() -> Explanation {
    (
        "The event is no longer stored".to_owned(),
        "When this delivery was due, its event had already been deleted at the end of its retention. There was nothing left to send.".to_owned(),
        vec!["If the event still matters, publish it again. Retrying this delivery cannot succeed.".to_owned()],
    )
}

fn outlook(row: &Delivery, webhook: Option<&Webhook>) -> String {
    match row.status {
        Status::Delivered => String::new(),
        Status::Pending => "It will be attempted as soon as a worker is free.".to_owned(),
        Status::Failed => format!(
            "It will be retried automatically: {} of {} attempts used.",
            row.attempt_count, row.max_attempts
        ),
        Status::Dead => {
            let then = if webhook.is_some_and(|webhook| webhook.health.status.is_stopped()) {
                " Resume the webhook first."
            } else {
                ""
            };
            format!("{} It stays dead until it is retried.{then}", ended(row))
        }
    }
}

/// Why there are no more attempts.
fn ended(row: &Delivery) -> String {
    match row.dead_cause {
        Some(DeadCause::Exhausted | DeadCause::ExhaustedFailingWebhook) => {
            let s = if row.attempt_count == 1 { "" } else { "s" };
            format!("Given up after {} attempt{s}.", row.attempt_count)
        }
        Some(DeadCause::Rejected) => {
            "Not retried: the retry policy treats this response as permanent.".to_owned()
        }
        Some(DeadCause::Gone | DeadCause::Declined) => {
            "Not retried, and the webhook was disabled.".to_owned()
        }
        Some(DeadCause::Aborted) => {
            "Not retried: the receiver asked not to receive it again.".to_owned()
        }
        Some(DeadCause::Blocked) => {
            "Not retried: another attempt would be blocked again.".to_owned()
        }
        Some(DeadCause::Unrendered) => "Not retried: the template would fail again.".to_owned(),
        Some(
            DeadCause::Expired
            | DeadCause::WebhookDeleted
            | DeadCause::EventExpired
            | DeadCause::Erased,
        )
        | None => "Given up.".to_owned(),
    }
}

#[cfg(test)]
mod tests;
