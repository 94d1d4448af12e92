//! Shadow requests: send the request of a delivery once to another URL and compare the response with the last attempt.
//! The row is read and never written: no claim, no attempt, no rate limit, no notification.

use std::sync::Arc;

use postrider_domain::attempt::Attempt;
use postrider_domain::egress::Rules;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::outcome::{Answer, FailureKind, Outcome};
use postrider_domain::request::Content;
use postrider_domain::shadow::{Compared, ShadowDraft, ShadowReply, ShadowWish, compare, shown};
use postrider_domain::webhook::Webhook;
use postrider_ports::ShadowStore;
use postrider_ports::sender::{Post, Sender};
use tokio::sync::Semaphore;

use crate::error::Conflict;
use crate::{GatewayError, Ports, metrics, telemetry};

/// How many shadow requests one process runs at a time. Each holds a caller, a connection and a body.
pub const MAX_AT_ONCE: usize = 8;

pub struct Shadows {
    ports: Ports<dyn ShadowStore>,
    sender: Arc<dyn Sender>,
    rules: Rules,
    slots: Semaphore,
}

/// A shadow request and its result.
#[derive(Clone, Debug)]
pub struct Shadowed {
    pub request: SentRequest,
    pub reply: ShadowReply,
    /// The delivery's last attempt; `None` if there was none yet.
    pub last: Option<Attempt>,
    /// Empty without an attempt to compare with.
    pub compared: Vec<Compared>,
}

/// A request in a form that may be shown.
#[derive(Clone, Debug)]
pub struct SentRequest {
    pub url: String,
    /// Without signatures and credentials.
    pub headers: Vec<(String, String)>,
    /// The names of omitted headers.
    pub left_out: Vec<String>,
    pub body_bytes: usize,
}

impl Shadows {
    /// `sender` is the one that deliveries use; `rules` are its egress rules.
    #[must_use]
    pub fn new(
        ports: impl Into<Ports<dyn ShadowStore>>,
        sender: Arc<dyn Sender>,
        rules: Rules,
    ) -> Self {
        Self {
            ports: ports.into(),
            sender,
            rules,
            slots: Semaphore::new(MAX_AT_ONCE),
        }
    }

    /// Sends the request of a delivery once to another URL and compares the response with its last attempt.
    ///
    /// # Errors
    /// The request was not sent: the input is invalid, the address is blocked, the delivery, webhook or payload does not
    /// exist, or too many shadow requests are running.
    pub async fn send(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        draft: ShadowDraft,
    ) -> Result<Shadowed, GatewayError> {
        let wish = draft.check(&self.rules)?;
        let slot = self.slots.try_acquire();
        let _slot = slot.map_err(|_| GatewayError::TooManyShadows { limit: MAX_AT_ONCE })?;
        let store = &self.ports.store;
        let row = store.delivery(tenant, id).await?;
        let row = row.ok_or(GatewayError::NotFound { what: "delivery" })?;
        let webhook = store.webhook(tenant, id.webhook).await?;
        let webhook = webhook.ok_or(Conflict::WebhookDeleted)?;
        reject_own_url(&wish, &webhook)?;
        let event = store.event(tenant, id.event).await?;
        let event = event.ok_or(Conflict::PayloadGone)?;
        let last = store.attempts(tenant, id).await?.pop();

        let started_at = self.ports.clock.now();
        let content = Content::of(&event, &webhook).map_err(GatewayError::Unrendered)?;
        let request = Post {
            headers: wish.headers(&row, &content, &webhook, started_at),
            timeout: wish.timeout_for(&webhook),
            target_url: content.url(&wish.target_url),
            body: content.body,
        };
        let sent = SentRequest::of(&request, &wish, &webhook);
        // Logged before sending: if the caller disconnects, the code after the POST does not run.
        telemetry::shadowing(&row, wish.target_url.host_str());
        let posted = self.sender.post(request).await;
        let outcome = posted.map_err(|fault| {
            metrics::own_fault(fault.kind);
            postrider_ports::Error::from(fault)
        })?;
        telemetry::shadowed(&row, &outcome);
        reject_blocked(&outcome)?;
        let reply = ShadowReply::of(started_at, &outcome);
        let compared = last.as_ref().map(|last| compare(&reply, last));
        Ok(Shadowed {
            request: sent,
            compared: compared.into_iter().flatten().collect(),
            reply,
            last,
        })
    }
}

impl SentRequest {
    fn of(request: &Post, wish: &ShadowWish, webhook: &Webhook) -> Self {
        let left_out = wish.left_out(webhook);
        Self {
            url: request.target_url.to_string(),
            headers: shown(&request.headers),
            left_out: left_out.iter().map(ToString::to_string).collect(),
            body_bytes: request.body.len(),
        }
    }
}

/// The receiver would treat it as the delivery, but the delivery would stay open or dead.
fn reject_own_url(wish: &ShadowWish, webhook: &Webhook) -> Result<(), Invalid> {
    if wish.target_url == webhook.settings.target_url {
        let message = "must not be the webhook's own URL; retry the delivery instead";
        return Err(Invalid::field("url", message));
    }
    Ok(())
}

/// Only DNS shows that a name points to a blocked address. It is rejected like the address itself; nothing was sent.
fn reject_blocked(outcome: &Outcome) -> Result<(), Invalid> {
    match &outcome.result {
        Answer::Failed(failure) if failure.kind == FailureKind::Blocked => {
            Err(Invalid::field("url", failure.detail.clone()))
        }
        Answer::Failed(_) | Answer::Response(_) => Ok(()),
    }
}
