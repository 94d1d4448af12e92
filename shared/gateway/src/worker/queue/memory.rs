//! What this process remembers about the flow to each webhook. Other workers see other attempts of the same webhook.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::flow::{Change, Flow, Limiter, Observation};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::limiters::WebhookFlow;

/// A process that has seen more webhooks than this starts over.
const MAX_WEBHOOKS: usize = 10_000;
/// A registration is renewed after 20 to 40 seconds, so that workers do not renew theirs all at once.
const RENEW_AFTER_MS: u64 = 20_000;

#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<(TenantId, WebhookId), Known>>);

struct Known {
    flow: Flow,
    /// When this process last registered the backlog, and for how long it need not do so again.
    registered: Option<(Timestamp, Millis)>,
}

/// A webhook that this process found to be overloaded.
pub(super) struct Entered {
    pub(super) seen_epoch: u64,
    pub(super) limiter: Limiter,
    pub(super) change: Change,
}

impl Memory {
    /// Takes over what all workers share, and returns the change if their failures limit the webhook.
    pub(super) fn read(
        &self,
        webhook: &Webhook,
        shared: &WebhookFlow,
        now: Timestamp,
    ) -> Option<Entered> {
        self.with(webhook, shared.limiter, now, |flow| {
            let limits = webhook.settings.limits();
            flow.failed_in_a_row(shared.failed_in_a_row, &limits, now)
        })
    }

    /// Takes note of an attempt, and returns the change if it limits the webhook.
    pub(super) fn observe(
        &self,
        webhook: &Webhook,
        seen: Limiter,
        observation: Observation,
        now: Timestamp,
    ) -> Option<Entered> {
        self.with(webhook, seen, now, |flow| {
            flow.observe(observation, &webhook.settings.limits(), now)
        })
    }

    /// Whether the backlog has to be registered again. By the wall clock: that of a frozen process may stand still.
    pub(super) fn must_register(
        &self,
        webhook: &Webhook,
        seen: Limiter,
        drawn: [u8; 2],
        now: Timestamp,
    ) -> bool {
        let renew_after = RENEW_AFTER_MS + u64::from(u16::from_ne_bytes(drawn)) % RENEW_AFTER_MS;
        let mut all = self.0.lock();
        let known = known(&mut all, webhook, seen, now);
        let is_recent =
            |(at, renew_after): (Timestamp, Millis)| at <= now && now.since(at) < renew_after;
        if known.registered.is_some_and(is_recent) {
            return false;
        }
        known.registered = Some((now, Millis::new(renew_after)));
        true
    }

    /// The last registration did not succeed.
    pub(super) fn forget_registration(&self, webhook: &Webhook) {
        let key = (webhook.tenant.clone(), webhook.id);
        if let Some(known) = self.0.lock().get_mut(&key) {
            known.registered = None;
        }
    }

    /// What this worker believes was not stored: it reads the webhook's flow as if for the first time.
    pub(super) fn forget(&self, webhook: &Webhook) {
        self.0.lock().remove(&(webhook.tenant.clone(), webhook.id));
    }

    fn with(
        &self,
        webhook: &Webhook,
        seen: Limiter,
        now: Timestamp,
        act: impl FnOnce(&mut Flow) -> Option<Change>,
    ) -> Option<Entered> {
        let mut all = self.0.lock();
        let flow = &mut known(&mut all, webhook, seen, now).flow;
        if seen.epoch >= flow.limiter().epoch {
            flow.with(seen, now);
        }
        let seen_epoch = flow.limiter().epoch;
        let change = act(flow)?;
        Some(Entered {
            seen_epoch,
            limiter: *flow.limiter(),
            change,
        })
    }
}

fn known<'a>(
    all: &'a mut HashMap<(TenantId, WebhookId), Known>,
    webhook: &Webhook,
    seen: Limiter,
    now: Timestamp,
) -> &'a mut Known {
    let key = (webhook.tenant.clone(), webhook.id);
    if all.len() >= MAX_WEBHOOKS && !all.contains_key(&key) {
        all.clear();
    }
    all.entry(key).or_insert_with(|| Known {
        flow: Flow::of(seen, now),
        registered: None,
    })
}
