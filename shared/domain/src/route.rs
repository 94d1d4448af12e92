//! Which webhooks an event goes to.

use crate::event::Event;
use crate::health::WebhookStatus;
use crate::ids::WebhookId;
use crate::webhook::Webhook;

/// Why a named webhook cannot be delivered to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unroutable {
    /// The tenant has no such webhook.
    #[error("no webhook has this id")]
    Unknown,
    /// It wants no more.
    #[error("this webhook is disabled")]
    Disabled,
}

/// The webhooks that an event goes to: the one it names, whatever that subscribes to, or all that want it.
///
/// # Errors
/// When the named one cannot be delivered to.
pub fn plan<'a>(
    event: &Event,
    named: Option<WebhookId>,
    webhooks: &'a [Webhook],
) -> Result<Vec<&'a Webhook>, Unroutable> {
    let Some(named) = named else {
        return Ok(webhooks
            .iter()
            .filter(|webhook| webhook.wants(&event.event_type))
            .collect());
    };
    let webhook = webhooks
        .iter()
        .find(|webhook| webhook.id == named)
        .ok_or(Unroutable::Unknown)?;
    match webhook.health.status {
        WebhookStatus::Disabled => Err(Unroutable::Disabled),
        WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused => Ok(vec![webhook]),
    }
}
