//! The drainer, which attempts the backlog of one webhook on AWS. Only one runs per webhook: it holds the drain lease, and
//! with it the webhook's limiter.

mod lanes;
mod running;
mod slice;

use std::collections::HashSet;
use std::sync::Arc;

use postrider_domain::flow::FlowStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::longest_attempt;
use postrider_ports::drains::{DrainLease, DrainState, Registration};
use postrider_ports::queue::{DrainMessage, Queue};
use postrider_ports::{Result, WorkerStore};

use crate::attempt::Attempts;
use crate::webhook_cache::WebhookCache;
use crate::worker::START_MARGIN;
use crate::worker::claims::Claims;
use crate::{Ports, drains, telemetry};
use lanes::Lanes;
use slice::{Slice, Stop};

/// For how long one drain begins attempts. Drains of other webhooks wait for it.
const SLICE: Millis = Millis::from_seconds(10);
const SOON: Millis = Millis::from_seconds(1);
/// When the backlog is drained again after the store failed.
const AFTER_ERROR: Millis = Millis::from_seconds(30);
/// The same, if the lease may still be taken: it is good for a minute.
const AFTER_LEASE: Millis = Millis::from_seconds(65);

pub struct Drainer {
    ports: Ports<dyn WorkerStore>,
    attempts: Arc<Attempts>,
    webhook_cache: Arc<WebhookCache>,
    queue: Arc<dyn Queue>,
    wanting: Claims,
}

/// The result of a `drain` message. None of them is an error: the poller finds backlogs that nothing drains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// It began this many attempts.
    Begun(usize),
    /// Another process drains the backlog.
    Held,
    /// The webhook is paused, failed, disabled or deleted.
    Stopped,
    /// There was no time left.
    SentAgain,
    /// The store is busy, or something cannot be read. It is tried again later.
    Failed,
}

impl Drainer {
    pub(super) fn new(
        ports: Ports<dyn WorkerStore>,
        attempts: Arc<Attempts>,
        webhook_cache: Arc<WebhookCache>,
        queue: Arc<dyn Queue>,
        wanting: Claims,
    ) -> Self {
        Self {
            ports,
            attempts,
            webhook_cache,
            queue,
            wanting,
        }
    }

    /// Attempts the backlog of a webhook for a while, then lets another drain go on. A failure is never one of the message:
    /// it would come back until it is a dead letter. If something cannot be read, the poller asks again minutes later.
    pub(super) async fn drain(&self, message: &DrainMessage, deadline: Timestamp) -> Drained {
        match self.try_drain(message, deadline).await {
            Ok(drained) => drained,
            Err(error) => {
                telemetry::drain_failed(message.webhook, &error);
                if error.is_transient() {
                    self.send(message, self.ports.clock.now().plus(AFTER_LEASE))
                        .await;
                }
                Drained::Failed
            }
        }
    }

    async fn send(&self, message: &DrainMessage, not_before: Timestamp) {
        let message = DrainMessage {
            not_before,
            ..message.clone()
        };
        self.queue.send(vec![message.into()]).await;
    }

    async fn try_drain(&self, message: &DrainMessage, deadline: Timestamp) -> Result<Drained> {
        let now = self.ports.clock.now();
        let snapshot = self.webhook_cache.current(&message.tenant, now).await?;
        let is_stopped = self.is_stopped(&message.tenant, message.webhook).await?;
        let Some(webhook) = snapshot.get(message.webhook).filter(|_| !is_stopped) else {
            return Ok(Drained::Stopped);
        };
        let longest = longest_attempt(webhook.settings.timeout);
        let begin_until = deadline.minus(longest).minus(START_MARGIN);
        if begin_until <= now {
            self.send(message, message.not_before).await;
            return Ok(Drained::SentAgain);
        }
        let lease = DrainLease {
            owner: format!(
                "{}/{:016x}",
                self.wanting.process,
                u64::from_ne_bytes(self.ports.entropy.bytes())
            ),
            taken_at: now,
        };
        let store = &self.ports.store;
        let flow = store.take_drain_lease(&message.tenant, message.webhook, lease.clone());
        let Some(flow) = flow.await? else {
            return Ok(Drained::Held);
        };
        let until = now.plus(SLICE).min(begin_until);
        let mut slice = Slice::new(self, webhook.clone(), &flow, lease, until, deadline);
        let stop = slice.run().await;
        self.finish(message, slice, stop).await
    }

    /// Whether the webhook is paused, failed, disabled or deleted. The cache may not know: a changed status does not always
    /// raise the version.
    async fn is_stopped(&self, tenant: &TenantId, webhook: WebhookId) -> Result<bool> {
        let named = [(tenant.clone(), webhook)];
        let flow = self.ports.store.flows(&named).await.pop().transpose()?;
        Ok(flow.flatten().is_none_or(|flow| flow.status.is_stopped()))
    }

    /// Gives the lease back, sends the next `drain` message, and waits for the attempts that are under way.
    async fn finish(
        &self,
        message: &DrainMessage,
        mut slice: Slice<'_>,
        stop: Result<Stop>,
    ) -> Result<Drained> {
        let begun = slice.begun();
        let (drained, next_at) = match &stop {
            Ok(Stop::Over) => (Drained::Begun(begun), slice.next_drain_at()),
            Ok(Stop::Stopped) => (Drained::Stopped, None),
            // Another worker limited the webhook, and asked for no drain while this one ran.
            Ok(Stop::Lost) => (Drained::Held, Some(self.ports.clock.now().plus(SOON))),
            Err(error) => {
                telemetry::drain_failed(slice.webhook.id, error);
                let at = self.ports.clock.now().plus(AFTER_ERROR);
                (Drained::Begun(begun), Some(at))
            }
        };
        if slice.has_own_maximum() {
            // The next drain does not know of them.
            slice.finish_attempts().await;
        }
        let ended = slice.end(next_at).await;
        if let (Some(not_before), Ok(())) = (next_at, &ended) {
            slice.alongside(self.send(message, not_before)).await;
        }
        if matches!(stop, Ok(Stop::Over)) && ended.is_ok() && slice.found_nothing() {
            let flow = slice.flow_status();
            let known = slice.take_unclaimed();
            let look = self.look_again(message, flow, next_at, &known);
            if let Err(error) = slice.alongside(look).await {
                telemetry::drain_failed(message.webhook, &error);
            }
        }
        slice.finish_attempts().await;
        ended.map(|()| drained)
    }

    /// Rows that were written while the lease was held, after the last look, have no message that asks for a drain. If
    /// there are none, and no more can come, the backlog is no longer registered. The drain has planned when the rows that
    /// it could not claim are looked at.
    async fn look_again(
        &self,
        message: &DrainMessage,
        flow: FlowStatus,
        asked_for: Option<Timestamp>,
        unclaimed: &HashSet<DeliveryId>,
    ) -> Result<()> {
        let (tenant, webhook) = (&message.tenant, message.webhook);
        let store = &self.ports.store;
        let looked_at = self.ports.clock.now();
        let may_end = !flow.limited && !flow.capped && unclaimed.is_empty();
        let registration = if may_end {
            store.registration(tenant, webhook).await?
        } else {
            None
        };
        let mut lanes = Lanes::new(tenant.clone(), webhook, store.shards());
        lanes.fill(&**store, unclaimed, looked_at).await?;
        if lanes.has_due() {
            let now = self.ports.clock.now();
            let seen = DrainState {
                asked_for,
                ..DrainState::default()
            };
            let named = (tenant, webhook);
            drains::ask_for_drain(&**store, &*self.queue, named, &seen, now).await;
            return Ok(());
        }
        let is_done = |registration: &Registration| registration.is_settled(looked_at);
        if let Some(registration) = registration.filter(is_done)
            && lanes.first_due_at().is_none()
            && !lanes.has_more()
        {
            store.unregister_backlog(&registration).await?;
        }
        Ok(())
    }
}
