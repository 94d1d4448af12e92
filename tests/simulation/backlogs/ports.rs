//! The ports of the store in memory.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Claimed, Completion, Delivery};
use postrider_domain::event::Event;
use postrider_domain::flow::{Credit, Limiter, Limits};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::backlog::{Backlog, Rows, Stretch};
use postrider_ports::configs::{Changed, Created, WebhookChange, WebhookList, Webhooks};
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, Deliveries, Renewed, Wanted,
};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, DrainState, Drains, Postponed, Registration,
    Round,
};
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, Page};
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};
use postrider_ports::probes::Probes;
use postrider_ports::{Error, Result};

use super::store::{MemoryStore, SHARDS};

fn not_simulated<T>() -> Result<T> {
    Err(Error::Broken("not simulated".to_owned()))
}

#[async_trait]
impl Deliveries for MemoryStore {
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        batch.iter().map(|_| not_simulated()).collect()
    }

    async fn claim(&self, wanted: Vec<Wanted>, _: Timestamp) -> Vec<Result<Claim>> {
        self.takes_longer(self.faults.claims_take).await;
        self.call(|now| {
            let claim = |one: &Wanted| {
                let mut state = self.state(one.id.webhook);
                Ok(state.claim(one, now, |row| row.claim(&one.lease, now)))
            };
            wanted.iter().map(claim).collect()
        })
        .await
    }

    async fn renew(&self, _: &Claimed, _: Timestamp) -> Result<Renewed> {
        Ok(Renewed::Held)
    }

    async fn give_back(&self, claimed: &Claimed, _: Timestamp) -> Result<()> {
        let webhook = claimed.delivery().id.webhook;
        self.call_on(webhook, |state, _| {
            state.give_back(claimed);
            Ok(())
        })
        .await
    }

    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        _: Timestamp,
    ) -> Result<Applied> {
        let webhook = claimed.delivery().id.webhook;
        self.call_on(webhook, |state, now| {
            Ok(state.apply(claimed, &completion, now))
        })
        .await
    }
}

#[async_trait]
impl Probes for MemoryStore {
    async fn probes_due(&self, _: usize, _: Timestamp) -> Result<Vec<(TenantId, WebhookId)>> {
        Ok(Vec::new())
    }

    async fn begin_probe(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: Timestamp,
    ) -> Result<Option<Health>> {
        not_simulated()
    }

    async fn give_back_probe(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: u32,
        _: Timestamp,
    ) -> Result<()> {
        not_simulated()
    }

    async fn probe_passed(&self, _: &TenantId, _: WebhookId, _: u32, _: Timestamp) -> Result<()> {
        not_simulated()
    }
}

#[async_trait]
impl History for MemoryStore {
    async fn delivery(&self, _: &TenantId, id: DeliveryId) -> Result<Option<Delivery>> {
        self.call_on(id.webhook, |state, _| Ok(state.rows.get(&id).cloned()))
            .await
    }

    async fn event(&self, _: &TenantId, _: EventId) -> Result<Option<Arc<Event>>> {
        not_simulated()
    }

    async fn rows_of(&self, _: &TenantId, _: EventId) -> Result<Vec<Delivery>> {
        not_simulated()
    }

    async fn attempts(&self, _: &TenantId, _: DeliveryId) -> Result<Vec<Attempt>> {
        not_simulated()
    }

    async fn list(
        &self,
        _: &TenantId,
        _: &Filter,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        not_simulated()
    }

    async fn stats(
        &self,
        _: &TenantId,
        _: Option<WebhookId>,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        not_simulated()
    }
}

#[async_trait]
impl Backlog for MemoryStore {
    fn shards(&self) -> u16 {
        SHARDS
    }

    async fn rows_between(&self, _: Stretch, _: usize, _: Option<&Cursor>) -> Result<Rows> {
        not_simulated()
    }
}

#[async_trait]
impl Limiters for MemoryStore {
    async fn flows(&self, webhooks: &[(TenantId, WebhookId)]) -> Vec<Result<Option<WebhookFlow>>> {
        self.call(|_| {
            let flow = |(_, id): &(TenantId, WebhookId)| {
                self.readable(*id)?;
                Ok(self.state(*id).flow())
            };
            webhooks.iter().map(flow).collect()
        })
        .await
    }

    async fn enter(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        seen_epoch: u64,
        entered: Limiter,
        now: Timestamp,
    ) -> Result<Stored> {
        self.call_on(webhook, |state, _| {
            if state.limiter.limited || state.limiter.epoch != seen_epoch {
                return Ok(Stored::Outdated);
            }
            state.register(now);
            state.limiter = entered;
            Ok(Stored::Done)
        })
        .await
    }

    async fn take_credit(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        _: &WebhookFlow,
        want: usize,
        limits: Limits,
        _: Timestamp,
    ) -> Result<usize> {
        self.call_on(webhook, |state, now| {
            let is_limited = state.limiter.limited || limits.is_capped();
            if is_limited || state.drain.is_leased(now) {
                return Ok(0);
            }
            let rate = state.limiter.retry_rate_milli(&limits);
            Ok(state.credit.take(rate, want, now))
        })
        .await
    }
}

#[async_trait]
impl Drains for MemoryStore {
    async fn register_backlog(&self, _: &TenantId, webhook: WebhookId, _: Timestamp) -> Result<()> {
        self.call_on(webhook, |state, now| {
            state.register(now);
            Ok(())
        })
        .await
    }

    async fn move_to_backlog(&self, rows: Vec<Postponed>, _: Timestamp) -> Vec<Result<()>> {
        self.call(|now| {
            let move_one = |row: &Postponed| {
                let mut state = self.state(row.id.webhook);
                state.move_to_backlog(row.id, row.next_retry_at, now);
                Ok(())
            };
            rows.iter().map(move_one).collect()
        })
        .await
    }

    async fn ask_for_drain(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored> {
        self.call_on(webhook, |state, _| {
            if state.webhook.is_none() || state.drain.asked_for != seen {
                return Ok(Stored::Outdated);
            }
            state.drain.asked_for = Some(at);
            Ok(Stored::Done)
        })
        .await
    }

    async fn take_drain_lease(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        lease: DrainLease,
    ) -> Result<Option<WebhookFlow>> {
        self.readable(webhook)?;
        self.call_on(webhook, |state, _| {
            if state.drain.is_leased(lease.taken_at) && !state.holds(&lease) {
                return Ok(None);
            }
            state.credit = Credit::empty(lease.taken_at);
            state.drain.lease = Some(lease);
            Ok(state.flow())
        })
        .await
    }

    async fn store_limiter(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: Limiter,
    ) -> Result<Stored> {
        self.call_on(webhook, |state, now| {
            if !state.holds(lease) || state.limiter.epoch != seen_epoch {
                return Ok(Stored::Outdated);
            }
            if limiter.epoch != seen_epoch && !limiter.limited {
                state.register(now);
            }
            state.limiter = limiter;
            Ok(Stored::Done)
        })
        .await
    }

    async fn end_drain(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        end: DrainEnd,
    ) -> Result<()> {
        self.call_on(webhook, |state, _| {
            if !state.holds(lease) {
                return Ok(());
            }
            if state.limiter.epoch == end.seen_epoch {
                state.limiter = end.limiter;
            }
            state.credit = Credit::empty(end.at);
            state.drain = DrainState {
                lease: None,
                asked_for: end.asked_for,
                looked: end.looked.or(state.drain.looked),
            };
            Ok(())
        })
        .await
    }

    async fn backlog_rows(
        &self,
        _: &TenantId,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        let after: usize = after.map_or(0, |cursor| cursor.0.parse().unwrap_or(0));
        self.takes_longer(self.faults.pages_take).await;
        self.call_on(part.webhook, move |state, now| {
            let messages = state.backlog(part, now);
            let end = after + limit;
            let next = (messages.len() > end).then(|| Cursor(end.to_string()));
            let messages = messages.into_iter().skip(after).take(limit).collect();
            Ok(Rows { messages, next })
        })
        .await
    }

    async fn claim_from_backlog(&self, wanted: Vec<Wanted>, _: Timestamp) -> Vec<Result<Claim>> {
        self.takes_longer(self.faults.claims_take).await;
        self.call(|now| {
            let claim = |one: &Wanted| {
                let mut state = self.state(one.id.webhook);
                Ok(state.claim(one, now, |row| row.claim_from_backlog(&one.lease, now)))
            };
            wanted.iter().map(claim).collect()
        })
        .await
    }

    async fn registrations(
        &self,
        shard: u16,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Registration>> {
        let after: usize = after.map_or(0, |cursor| cursor.0.parse().unwrap_or(0));
        self.call(move |_| {
            let registered = self.states().filter_map(|state| state.registration.clone());
            let here = registered
                .filter(|one| u16::from(one.webhook.as_bytes()[15]) % SHARDS == shard)
                .skip(after);
            let items: Vec<_> = here.take(limit).collect();
            let next = (items.len() == limit).then(|| Cursor((after + limit).to_string()));
            Ok(Page { items, next })
        })
        .await
    }

    async fn registration(&self, _: &TenantId, webhook: WebhookId) -> Result<Option<Registration>> {
        self.call_on(webhook, |state, _| Ok(state.registration.clone()))
            .await
    }

    async fn unregister_backlog(&self, registration: &Registration) -> Result<()> {
        self.call_on(registration.webhook, |state, _| {
            if state.registration.as_ref() == Some(registration) {
                state.registration = None;
            }
            Ok(())
        })
        .await
    }

    async fn round(&self) -> Result<Round> {
        self.call(|_| Ok(self.round.lock().clone())).await
    }

    async fn store_round(&self, round: &Round) -> Result<()> {
        self.call(|_| {
            *self.round.lock() = round.clone();
            Ok(())
        })
        .await
    }

    async fn backlog_size(&self, _: &TenantId, _: WebhookId, _: Timestamp) -> Result<BacklogSize> {
        not_simulated()
    }
}

#[async_trait]
impl Webhooks for MemoryStore {
    async fn webhooks_version(&self, tenant: &TenantId) -> Result<u64> {
        self.call(|_| Ok(self.of(tenant).version)).await
    }

    async fn webhooks(&self, tenant: &TenantId) -> Result<WebhookList> {
        self.call(|_| {
            let state = self.of(tenant);
            Ok(WebhookList {
                version: state.version,
                webhooks: state.webhook.iter().cloned().collect(),
                tenant: None,
            })
        })
        .await
    }

    async fn webhook(&self, _: &TenantId, webhook: WebhookId) -> Result<Option<Webhook>> {
        self.call_on(webhook, |state, _| Ok(state.webhook.clone()))
            .await
    }

    async fn failed_webhooks(&self) -> Result<u64> {
        not_simulated()
    }

    async fn create_webhook(&self, _: Webhook) -> Result<Created> {
        not_simulated()
    }

    async fn change_webhook(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: WebhookChange,
    ) -> Result<Changed> {
        not_simulated()
    }

    async fn set_webhook_status(
        &self,
        _: &TenantId,
        _: WebhookId,
        _: WebhookStatus,
        _: Timestamp,
    ) -> Result<Option<Health>> {
        not_simulated()
    }

    async fn delete_webhook(&self, _: &TenantId, _: WebhookId, _: Timestamp) -> Result<bool> {
        not_simulated()
    }
}
