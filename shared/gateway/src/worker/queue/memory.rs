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

#[cfg(test)]
mod tests {
    use postrider_domain::health::WebhookStatus;
    use postrider_ports::drains::DrainState;
    use postrider_testkit::builders::{NOW, webhook};

    use super::*;

    fn the_webhook(n: u32) -> Webhook {
        webhook(&TenantId::default(), n)
    }

    fn later(ms: u64) -> Timestamp {
        NOW.plus(Millis::new(ms))
    }

    /// With the random number `drawn`.
    fn must_register(memory: &Memory, n: u32, drawn: u16, now: Timestamp) -> bool {
        let seen = Limiter::default();
        memory.must_register(&the_webhook(n), seen, drawn.to_ne_bytes(), now)
    }

    /// Ten failures in a row, under this limiter.
    fn failing(limiter: Limiter) -> WebhookFlow {
        WebhookFlow {
            status: WebhookStatus::Active,
            generation: 0,
            updated_at: None,
            limiter,
            capped: false,
            failed_in_a_row: 10,
            credit: None,
            drain: DrainState::default(),
        }
    }

    fn enters(memory: &Memory, limiter: Limiter) -> bool {
        let entered = memory.read(&the_webhook(1), &failing(limiter), NOW);
        entered.is_some_and(|entered| entered.limiter.limited)
    }

    #[test]
    fn failures_that_other_workers_counted_limit_a_webhook_once() {
        let memory = Memory::default();
        assert!(enters(&memory, Limiter::default()));
        // This was read before the limit was stored.
        assert!(!enters(&memory, Limiter::default()));
    }

    #[test]
    fn a_webhook_that_another_worker_limited_is_not_limited_again() {
        let memory = Memory::default();
        let limited = Limiter {
            limited: true,
            epoch: 1,
            ..Limiter::default()
        };
        // Known before it was limited.
        assert!(must_register(&memory, 1, 0, NOW));
        assert!(!enters(&memory, limited));
    }

    #[test]
    fn a_limit_that_could_not_be_stored_is_entered_again() {
        let memory = Memory::default();
        assert!(enters(&memory, Limiter::default()));
        memory.forget(&the_webhook(1));
        assert!(enters(&memory, Limiter::default()));
    }

    #[test]
    fn a_registration_is_renewed_after_20_to_40_seconds() {
        for (drawn, after_ms) in [(0, 20_000), (19_999, 39_999), (20_000, 20_000)] {
            let memory = Memory::default();
            assert!(must_register(&memory, 1, drawn, NOW));
            assert!(!must_register(&memory, 1, 0, later(after_ms - 1)));
            assert!(must_register(&memory, 1, 0, later(after_ms)));
        }
    }

    #[test]
    fn a_registration_by_a_clock_that_ran_ahead_is_renewed() {
        let memory = Memory::default();
        assert!(must_register(&memory, 1, 0, later(60_000)));
        assert!(must_register(&memory, 1, 0, NOW));
    }

    #[test]
    fn a_registration_that_failed_is_tried_again() {
        let memory = Memory::default();
        assert!(must_register(&memory, 1, 0, NOW));
        memory.forget_registration(&the_webhook(1));
        assert!(must_register(&memory, 1, 0, NOW));
    }

    /// Only a webhook that is not known yet makes a full memory start over.
    #[test]
    fn a_process_remembers_ten_thousand_webhooks() {
        let memory = Memory::default();
        for n in 1..=10_000 {
            assert!(must_register(&memory, n, 0, NOW));
        }
        assert!(!must_register(&memory, 1, 0, NOW));
        assert!(!must_register(&memory, 10_000, 0, NOW));
        assert!(must_register(&memory, 10_001, 0, NOW));
        assert!(must_register(&memory, 1, 0, NOW));
    }
}
