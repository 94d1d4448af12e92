//! Shadows: the request of a delivery, sent once to another URL, beside what its last attempt got. The row is read and
//! never written: no claim, no attempt, no turn, no announcement.

use std::sync::Arc;

use postrider_domain::attempt::Attempt;
use postrider_domain::egress::Rules;
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::outcome::{Answer, FailureKind, Outcome};
use postrider_domain::shadow::{Compared, ShadowDraft, ShadowReply, ShadowWish, compare, shown};
use postrider_domain::webhook::Webhook;
use postrider_ports::sender::{Post, Sender};
use tokio::sync::Semaphore;

use crate::error::Conflict;
use crate::{GatewayError, Ports, telemetry};

/// How many shadows may be under way in one process. Each holds a caller, a connection and a body.
pub const MAX_AT_ONCE: usize = 8;

/// Sends shadows.
pub struct Shadows {
    ports: Ports,
    sender: Arc<dyn Sender>,
    rules: Rules,
    places: Semaphore,
}

/// What a shadow was and what came of it.
#[derive(Clone, Debug)]
pub struct Shadowed {
    /// What was sent.
    pub request: SentRequest,
    /// What came back.
    pub reply: ShadowReply,
    /// What the delivery's last attempt got; none if it was not attempted yet.
    pub last: Option<Attempt>,
    /// What differs between the two; empty without an attempt.
    pub compared: Vec<Compared>,
}

/// A request as people may see it.
#[derive(Clone, Debug)]
pub struct SentRequest {
    /// Where it went.
    pub url: String,
    /// Names and values, without signatures and credentials.
    pub headers: Vec<(String, String)>,
    /// The names of the headers that were left out.
    pub left_out: Vec<String>,
    /// How long the body is.
    pub body_bytes: usize,
}

impl Shadows {
    /// Over these ports, by the sender that deliveries go out by, to where its rules allow.
    #[must_use]
    pub fn new(ports: Ports, sender: Arc<dyn Sender>, rules: Rules) -> Self {
        Self {
            ports,
            sender,
            rules,
            places: Semaphore::new(MAX_AT_ONCE),
        }
    }

    /// Sends the request of a delivery once to another URL and compares what comes back with its last attempt.
    ///
    /// # Errors
    /// Why it was not sent: what does not fit, an address that is not allowed, a delivery, webhook or payload that is not
    /// there, too many at once.
    pub async fn send(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        draft: ShadowDraft,
    ) -> Result<Shadowed, GatewayError> {
        let wish = draft.check(&self.rules)?;
        let place = self.places.try_acquire();
        let _place = place.map_err(|_| GatewayError::TooManyShadows { limit: MAX_AT_ONCE })?;
        let store = &self.ports.store;
        let row = store.delivery(tenant, id).await?;
        let row = row.ok_or(GatewayError::NotFound { what: "delivery" })?;
        let webhook = store.webhook(tenant, id.webhook).await?;
        let webhook = webhook.ok_or(Conflict::WebhookDeleted)?;
        refuse_its_own(&wish, &webhook)?;
        let event = store.event(tenant, id.event).await?;
        let event = event.ok_or(Conflict::PayloadGone)?;
        let last = store.attempts(tenant, id).await?.pop();

        let started_at = self.ports.clock.now();
        let request = Post {
            headers: wish.headers(&row, &event, &webhook, started_at),
            timeout: wish.timeout_for(&webhook),
            body: event.body.clone(),
            target_url: wish.target_url.clone(),
        };
        let sent = SentRequest::of(&request, &wish, &webhook);
        // Before it goes out: whoever asked may hang up, and then nothing behind this is reached.
        telemetry::shadowing(&row, wish.target_url.host_str());
        let outcome = self.sender.post(request).await;
        telemetry::shadowed(&row, &outcome);
        refuse_forbidden(&outcome)?;
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

/// The real receiver would take it for the delivery, which would stay open or dead all the same.
fn refuse_its_own(wish: &ShadowWish, webhook: &Webhook) -> Result<(), Invalid> {
    if wish.target_url == webhook.settings.target_url {
        let message = "is the webhook's own URL: retry the delivery instead";
        return Err(Invalid::field("url", message));
    }
    Ok(())
}

/// A name that leads to a forbidden address is found out only when it is resolved; it is refused as the address itself
/// would have been. Nothing was sent then.
fn refuse_forbidden(outcome: &Outcome) -> Result<(), Invalid> {
    match &outcome.result {
        Answer::Failed(failure) if failure.kind == FailureKind::Blocked => {
            Err(Invalid::field("url", failure.detail.clone()))
        }
        Answer::Failed(_) | Answer::Response(_) => Ok(()),
    }
}
