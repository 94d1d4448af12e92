//! Why a delivery has not arrived, in plain words, and what to do about it.

mod network;
mod status;

use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{DeadCause, Delivery, Status};
use postrider_domain::health::WebhookStatus;
use postrider_domain::outcome::FailureKind;
use postrider_domain::webhook::Webhook;
use serde::Serialize;
use utoipa::ToSchema;

/// Every kind of failure, with the words that an attempt's record begins with.
const KINDS: [FailureKind; 7] = [
    FailureKind::Timeout,
    FailureKind::Dns,
    FailureKind::Connect,
    FailureKind::Reset,
    FailureKind::Tls,
    FailureKind::Malformed,
    FailureKind::Blocked,
];

/// Why a delivery has not arrived, in plain words.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Why {
    /// What happened, in a few words.
    pub(crate) title: String,
    /// What that means.
    pub(crate) meaning: String,
    /// What to do, one thing each.
    pub(crate) advice: Vec<String>,
    /// What comes next by itself.
    pub(crate) outlook: String,
}

/// What happened, what it means, what to do.
type Told = (String, String, Vec<String>);

/// Explains a delivery that has not arrived; none for one that has, or that nobody has attempted yet.
pub(crate) fn explain(
    row: &Delivery,
    last: Option<&Attempt>,
    webhook: Option<&Webhook>,
) -> Option<Why> {
    let told = match (row.status, row.dead_cause) {
        (Status::Delivered, _) => return None,
        (Status::Dead, Some(DeadCause::Expired)) => expired(),
        (Status::Dead, Some(DeadCause::WebhookDeleted)) => deleted(),
        (Status::Pending | Status::Failed, _) if row.parked => held_back(webhook),
        (Status::Pending | Status::Failed | Status::Dead, _) => failed(row, last?, webhook)?,
    };
    let (title, meaning, advice) = told;
    Some(Why {
        title,
        meaning,
        advice,
        outlook: outlook(row, webhook),
    })
}

fn failed(row: &Delivery, attempt: &Attempt, webhook: Option<&Webhook>) -> Option<Told> {
    let error = attempt.error.as_deref()?;
    if let Some(status) = attempt.status_code {
        return Some(status::told(status, row));
    }
    let kind = KINDS
        .into_iter()
        .find(|kind| error.starts_with(&kind.to_string()));
    let detail = error.split_once(": ").map_or(error, |(_, detail)| detail);
    let timeout = webhook.map(|webhook| webhook.settings.timeout.get() / 1000);
    Some(match kind {
        Some(kind) => network::told(
            kind,
            attempt.phase.as_deref(),
            detail,
            &row.target_url,
            timeout,
        ),
        None => (
            "The attempt failed".to_owned(),
            error.to_owned(),
            Vec::new(),
        ),
    })
}

fn deleted() -> Told {
    (
        "The webhook was deleted".to_owned(),
        "The delivery was still open when somebody deleted its webhook, so it was given up."
            .to_owned(),
        vec![
            "If the event still matters, make the webhook anew and publish the event again."
                .to_owned(),
        ],
    )
}

fn expired() -> Told {
    (
        "Its time ran out".to_owned(),
        "The delivery was still open when its time to be kept was over, most likely because its webhook was paused or failed all the while.".to_owned(),
        vec!["Resume webhooks before their deliveries run out, or let them be kept longer: see the retention in the settings.".to_owned()],
    )
}

fn held_back(webhook: Option<&Webhook>) -> Told {
    let status = webhook.map(|webhook| webhook.health.status);
    let state = match status {
        Some(WebhookStatus::Paused) => "was paused by a person",
        Some(WebhookStatus::Failed) => "has failed and waits for a person",
        Some(WebhookStatus::Disabled) => "is disabled",
        Some(WebhookStatus::Active) => "has just been resumed",
        None => "is gone",
    };
    (
        "It waits for its webhook".to_owned(),
        format!("Nothing is wrong with this delivery: its webhook {state}, and deliveries are kept until it is resumed."),
        vec!["Put right what stopped the webhook, then resume it. Everything that waits goes out by itself.".to_owned()],
    )
}

fn outlook(row: &Delivery, webhook: Option<&Webhook>) -> String {
    let resumes = webhook.is_some_and(|webhook| webhook.health.status.parks());
    match row.status {
        Status::Delivered => String::new(),
        Status::Pending | Status::Failed if row.parked => {
            "It goes out when the webhook is resumed.".to_owned()
        }
        Status::Pending => "It is attempted as soon as there is a place.".to_owned(),
        Status::Failed => format!(
            "It is tried again by itself: {} of {} attempts are used.",
            row.attempt_count, row.max_attempts
        ),
        Status::Dead => {
            let given_up = match row.dead_cause {
                Some(DeadCause::Exhausted | DeadCause::ExhaustedFailingWebhook) => {
                    let s = if row.attempt_count == 1 { "" } else { "s" };
                    format!("Given up after {} attempt{s}.", row.attempt_count)
                }
                Some(DeadCause::Rejected) => {
                    "Given up at once: the webhook's policy takes this answer for final.".to_owned()
                }
                Some(DeadCause::Gone | DeadCause::Declined) => {
                    "Given up at once, and the webhook was disabled.".to_owned()
                }
                Some(DeadCause::Aborted) => {
                    "Given up at once: the receiver said not to send it again.".to_owned()
                }
                Some(DeadCause::Blocked) => {
                    "Given up at once: another attempt would be refused as well.".to_owned()
                }
                Some(DeadCause::Expired | DeadCause::WebhookDeleted) | None => {
                    "Given up.".to_owned()
                }
            };
            let then = if resumes {
                " Resume the webhook first."
            } else {
                ""
            };
            format!("{given_up} It stays dead until somebody retries it.{then}")
        }
    }
}

#[cfg(test)]
mod tests;
