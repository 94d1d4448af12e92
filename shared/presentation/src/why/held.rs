//! The delivery waits: for its webhook to be resumed, or for the rate at which the webhook may be called.

use postrider_domain::delivery::Delivery;
use postrider_domain::flow::{AttemptKind, FlowStatus, Limits, WaitingFor};
use postrider_domain::health::WebhookStatus;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;

use super::{Explanation, RECREATE};

/// Why an open delivery does not go out although nothing is wrong with it.
pub(super) enum Held<'a> {
    WebhookDeleted,
    WebhookStopped(&'a Webhook),
    RateLimit(&'a Delivery, &'a Webhook, FlowStatus),
}

impl<'a> Held<'a> {
    pub(super) fn of(
        row: &'a Delivery,
        webhook: Option<(&'a Webhook, FlowStatus)>,
        now: Timestamp,
    ) -> Option<Self> {
        if !row.status.is_open() {
            return None;
        }
        let Some((webhook, flow)) = webhook else {
            return Some(Self::WebhookDeleted);
        };
        match WaitingFor::of(row, Some((webhook.health.status, flow)), now)? {
            WaitingFor::RetryTime => None,
            WaitingFor::WebhookResume => Some(Self::WebhookStopped(webhook)),
            WaitingFor::RateLimit => Some(Self::RateLimit(row, webhook, flow)),
        }
    }

    pub(super) fn explain(&self) -> Explanation {
        match self {
            Self::WebhookDeleted => (
                "The webhook was deleted".to_owned(),
                "This delivery was still open when its webhook was deleted.".to_owned(),
                vec![RECREATE.to_owned()],
            ),
            Self::WebhookStopped(webhook) => stopped(webhook),
            Self::RateLimit(row, webhook, flow) => rate_limited(row, webhook, *flow),
        }
    }

    pub(super) const fn outlook(&self) -> &'static str {
        match self {
            Self::WebhookDeleted => "It will be marked dead.",
            Self::WebhookStopped(_) => "It goes out when the webhook is resumed.",
            Self::RateLimit(..) => "It goes out as soon as the rate limit allows.",
        }
    }
}

const FIX_AND_RESUME: &str =
    "Fix what stopped the webhook, then resume it. Deliveries on hold then go out automatically.";

fn stopped(webhook: &Webhook) -> Explanation {
    let (title, state, advice) = match webhook.health.status {
        WebhookStatus::Active | WebhookStatus::Paused => (
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
        format!("Its webhook {state}, and deliveries are held until it is resumed."),
        vec![advice.to_owned()],
    )
}

/// The setting that a first attempt waits for.
fn own_limit(row: &Delivery, webhook: &Webhook) -> Option<String> {
    let Limits {
        max_rate,
        max_in_flight,
        ..
    } = webhook.settings.limits();
    match (AttemptKind::of(row), max_rate, max_in_flight) {
        (AttemptKind::Retry, ..) | (AttemptKind::First, None, None) => None,
        (AttemptKind::First, Some(rate), None) => Some(format!("a `max_rate` of {rate}/s")),
        (AttemptKind::First, None, Some(most)) => Some(format!("a `max_in_flight` of {most}")),
        (AttemptKind::First, Some(rate), Some(most)) => Some(format!(
            "a `max_rate` of {rate}/s and a `max_in_flight` of {most}"
        )),
    }
}

fn rate_limited(row: &Delivery, webhook: &Webhook, flow: FlowStatus) -> Explanation {
    let rate = flow.per_second();
    let (meaning, advice) = if flow.limited {
        (
            format!(
                "The receiver could not keep up, or the webhook was just resumed, \
                 so it is called at most {rate} times per second for now. The rate rises as requests succeed."
            ),
            "No action needed. If this lasts, the receiver is slower than the events it subscribes to.".to_owned(),
        )
    } else if let Some(own) = own_limit(row, webhook) {
        (
            format!("Its webhook has {own}, and other deliveries of it go first."),
            "No action needed, unless the receiver can take more: then raise the limit.".to_owned(),
        )
    } else {
        let configured = webhook.settings.retry_rate;
        (
            format!(
                "It is queued behind other retries of its webhook, which go out at \
                 {rate}/s."
            ),
            format!(
                "No action needed, unless the receiver can take more: then raise the webhook's `retry_rate` \
                 ({configured}/s)."
            ),
        )
    };
    (
        "Waiting for the webhook's rate limit".to_owned(),
        meaning,
        vec![advice],
    )
}
