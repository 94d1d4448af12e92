//! Webhooks and their backlogs in memory, with the guarantees of the store on AWS and no others: every write is atomic and
//! conditional, the index lags, and a caller that is gone may have written or not.

use std::collections::{BTreeMap, HashMap};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_ports::clock::Clock;
use postrider_ports::drains::Round;
use postrider_ports::{Error, Result};

use super::super::time::VirtualClock;
use super::state::State;

pub(super) const SHARDS: u16 = 2;
/// How long a call takes, half of it before the effect.
const CALL_TAKES: Millis = Millis::new(6);

/// What is wrong with the store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// The flow of this webhook cannot be read.
    pub(super) unreadable: Option<WebhookId>,
    /// How much longer claims take.
    pub(super) claims_take: Millis,
    /// How much longer pages of backlogs take.
    pub(super) pages_take: Millis,
}

pub(super) struct MemoryStore {
    clock: Arc<VirtualClock>,
    pub(super) faults: Faults,
    states: BTreeMap<WebhookId, Mutex<State>>,
    /// Each webhook has its own tenant.
    by_tenant: HashMap<TenantId, WebhookId>,
    pub(super) round: Mutex<Round>,
    calls: AtomicUsize,
    processes: AtomicU64,
}

impl MemoryStore {
    pub(super) fn new(clock: Arc<VirtualClock>, webhooks: Vec<Webhook>, index_lag: Millis) -> Self {
        let now = clock.now();
        let tenant = |webhook: &Webhook| (webhook.tenant.clone(), webhook.id);
        let state = |webhook: Webhook| {
            let id = webhook.id;
            (id, Mutex::new(State::new(webhook, index_lag, now)))
        };
        Self {
            clock,
            faults: Faults::default(),
            by_tenant: webhooks.iter().map(tenant).collect(),
            states: webhooks.into_iter().map(state).collect(),
            round: Mutex::default(),
            calls: AtomicUsize::new(0),
            processes: AtomicU64::new(0),
        }
    }

    pub(super) fn state(&self, webhook: WebhookId) -> MutexGuard<'_, State> {
        self.states[&webhook].lock()
    }

    pub(super) fn states(&self) -> impl Iterator<Item = MutexGuard<'_, State>> {
        self.states.values().map(|state| state.lock())
    }

    pub(super) fn of(&self, tenant: &TenantId) -> MutexGuard<'_, State> {
        self.state(self.by_tenant[tenant])
    }

    pub(super) fn pause(&self, webhook: WebhookId) {
        let now = self.clock.now();
        self.state(webhook).set_status(WebhookStatus::Paused, now);
    }

    pub(super) fn resume(&self, webhook: WebhookId) {
        let now = self.clock.now();
        self.state(webhook).set_status(WebhookStatus::Active, now);
    }

    pub(super) fn delete(&self, webhook: WebhookId) {
        let mut state = self.state(webhook);
        state.webhook = None;
        state.version += 1;
    }

    /// How many rows are open although their webhook exists.
    pub(super) fn waiting(&self) -> usize {
        self.states().map(|state| state.waiting()).sum()
    }

    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(super) fn process(&self) -> u64 {
        self.processes.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns once any process has made this call; never if it was made before.
    pub(super) async fn reaches(&self, call: Option<usize>) {
        let Some(call) = call.filter(|call| *call >= self.calls()) else {
            return pending().await;
        };
        while self.calls() <= call {
            let soon = self.clock.now().plus(Millis::new(1));
            self.clock.sleep_until(soon).await;
        }
    }

    /// A call: takes its time before and after its effect, so that a caller may be gone in either half.
    pub(super) async fn call<T: Send>(&self, effect: impl FnOnce(Timestamp) -> T + Send) -> T {
        let half = Millis::new(CALL_TAKES.get() / 2);
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let begun_at = self.clock.now();
        // Every second call has its effect early: a caller that dies at that call has written.
        if !calls.is_multiple_of(2) {
            self.clock.sleep_until(begun_at.plus(half)).await;
        }
        let result = effect(self.clock.now());
        let rest = Millis::new(CALL_TAKES.get() - half.get());
        let end_at = self.clock.now().plus(rest);
        self.clock.sleep_until(end_at).await;
        result
    }

    pub(super) async fn takes_longer(&self, by: Millis) {
        self.clock.sleep_until(self.clock.now().plus(by)).await;
    }

    pub(super) fn readable(&self, webhook: WebhookId) -> Result<()> {
        match self.faults.unreadable {
            Some(broken) if broken == webhook => Err(Error::Broken("unreadable".to_owned())),
            Some(_) | None => Ok(()),
        }
    }

    /// A call that concerns one webhook.
    pub(super) async fn call_on<T: Send>(
        &self,
        webhook: WebhookId,
        effect: impl FnOnce(&mut State, Timestamp) -> T + Send,
    ) -> T {
        self.call(|now| effect(&mut self.state(webhook), now)).await
    }
}
