//! Backlogs for functions that are developed against this store. Every open row of a webhook is its backlog, and limiters
//! and leases live in memory: one process serves all functions.

use std::collections::HashMap;
use std::ops::ControlFlow;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::flow::{AttemptKind, Credit, Limiter, Limits};
use postrider_domain::health::Health;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::backlog::Rows;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::{Claim, Deliveries, Wanted};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, DrainState, Drains, Postponed, Registration,
    Round,
};
use postrider_ports::history::{Cursor, Page};
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};
use postrider_ports::queue::AttemptMessage;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, Row};

use super::fault::Fault;
use super::{SqliteStore, codec, stepping};

const OPEN: &str = "SELECT event_id, next_retry_at FROM webhook_deliveries WHERE tenant = ?1 AND webhook_id = ?2 \
     AND status IN ('pending', 'failed') AND (attempts_total > 0) = ?3 AND (next_retry_at, event_id) > (?5, ?6) \
     ORDER BY next_retry_at, event_id LIMIT ?4";

/// The free rows of a kind that are due, to be counted.
pub(super) const DUE: &str = "SELECT 1 FROM webhook_deliveries WHERE tenant = ?1 AND webhook_id = ?2 AND is_retry = ?3 \
     AND wake_at <= ?4 LIMIT ?5";

/// One more than are counted.
const COUNTED_ROWS: usize = 10_001;

/// The flows of all webhooks.
pub(super) type Flows = Mutex<HashMap<(TenantId, WebhookId), Flow>>;

#[derive(Clone, Debug)]
pub(super) struct Flow {
    limiter: Limiter,
    credit: Credit,
    drain: DrainState,
    /// The generation of the webhook's state that the limiter belongs to.
    generation: u32,
}

impl Flow {
    fn new(webhook: &Webhook) -> Self {
        let now = webhook.created_at;
        Self {
            limiter: Limiter::new(&webhook.settings.limits(), now),
            credit: Credit::full(now),
            drain: DrainState::default(),
            generation: 0,
        }
    }

    /// Follows what an operator did since.
    fn follow(&mut self, health: &Health) {
        if self.generation == health.generation {
            return;
        }
        self.generation = health.generation;
        let changed_at = health.changed_at.unwrap_or_default();
        self.limiter = if health.status.is_stopped() {
            self.limiter.paused()
        } else {
            self.limiter.resumed(changed_at)
        };
    }

    fn is_held_by(&self, lease: &DrainLease) -> bool {
        let held = self.drain.lease.as_ref();
        held.is_some_and(|held| held.owner == lease.owner)
    }
}

impl SqliteStore {
    /// Does something with the flow of a webhook; `None` if there is no such webhook.
    async fn with_flow<T: Send>(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        act: impl FnOnce(&mut Flow, &Webhook) -> T + Send,
    ) -> Result<Option<T>> {
        let Some(found) = self.webhook(tenant, webhook).await? else {
            self.flows.lock().remove(&(tenant.clone(), webhook));
            return Ok(None);
        };
        let mut flows = self.flows.lock();
        let key = (tenant.clone(), webhook);
        let flow = flows.entry(key).or_insert_with(|| Flow::new(&found));
        flow.follow(&found.health);
        Ok(Some(act(flow, &found)))
    }

    async fn store_flow(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        act: impl FnOnce(&mut Flow) -> Stored + Send,
    ) -> Result<Stored> {
        let stored = self.with_flow(tenant, webhook, |flow, _| act(flow)).await?;
        Ok(stored.unwrap_or(Stored::Outdated))
    }
}

fn shown(flow: &Flow, webhook: &Webhook) -> WebhookFlow {
    WebhookFlow {
        status: webhook.health.status,
        generation: webhook.health.generation,
        updated_at: Some(webhook.updated_at),
        limiter: flow.limiter,
        capped: webhook.settings.limits().is_capped(),
        failed_in_a_row: webhook.health.failure_count,
        credit: Some(flow.credit),
        drain: flow.drain.clone(),
    }
}

#[async_trait]
impl Limiters for SqliteStore {
    async fn flows(&self, webhooks: &[(TenantId, WebhookId)]) -> Vec<Result<Option<WebhookFlow>>> {
        let mut flows = Vec::with_capacity(webhooks.len());
        for (tenant, id) in webhooks {
            let flow = self.with_flow(tenant, *id, |flow, webhook| shown(flow, webhook));
            flows.push(flow.await);
        }
        flows
    }

    async fn enter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen_epoch: u64,
        entered: Limiter,
        _: Timestamp,
    ) -> Result<Stored> {
        self.store_flow(tenant, webhook, |flow| {
            if flow.limiter.limited || flow.limiter.epoch != seen_epoch {
                return Stored::Outdated;
            }
            flow.limiter = entered;
            Stored::Done
        })
        .await
    }

    async fn take_credit(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        _: &WebhookFlow,
        want: usize,
        limits: Limits,
        now: Timestamp,
    ) -> Result<usize> {
        let taken = self.with_flow(tenant, webhook, |flow, _| {
            if flow.limiter.limited || limits.is_capped() || flow.drain.is_leased(now) {
                return 0;
            }
            let rate = flow.limiter.retry_rate_milli(&limits);
            flow.credit = flow.credit.healed(now);
            flow.credit.take(rate, want, now)
        });
        Ok(taken.await?.unwrap_or(0))
    }
}

#[async_trait]
impl Drains for SqliteStore {
    async fn register_backlog(&self, _: &TenantId, _: WebhookId, _: Timestamp) -> Result<()> {
        Ok(())
    }

    async fn move_to_backlog(&self, rows: Vec<Postponed>, _: Timestamp) -> Vec<Result<()>> {
        rows.iter().map(|_| Ok(())).collect()
    }

    async fn ask_for_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored> {
        self.store_flow(tenant, webhook, |flow| {
            if flow.drain.asked_for != seen {
                return Stored::Outdated;
            }
            flow.drain.asked_for = Some(at);
            Stored::Done
        })
        .await
    }

    async fn take_drain_lease(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: DrainLease,
    ) -> Result<Option<WebhookFlow>> {
        let taken = self.with_flow(tenant, webhook, |flow, webhook| {
            if flow.drain.is_leased(lease.taken_at) && !flow.is_held_by(&lease) {
                return None;
            }
            flow.credit = Credit::empty(lease.taken_at);
            flow.drain.lease = Some(lease);
            Some(shown(flow, webhook))
        });
        Ok(taken.await?.flatten())
    }

    async fn store_limiter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: Limiter,
    ) -> Result<Stored> {
        self.store_flow(tenant, webhook, |flow| {
            if flow.limiter.epoch != seen_epoch || !flow.is_held_by(lease) {
                return Stored::Outdated;
            }
            flow.limiter = limiter;
            Stored::Done
        })
        .await
    }

    async fn end_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        end: DrainEnd,
    ) -> Result<()> {
        self.with_flow(tenant, webhook, |flow, _| {
            if !flow.is_held_by(lease) {
                return;
            }
            if flow.limiter.epoch == end.seen_epoch {
                flow.limiter = end.limiter;
            }
            flow.credit = Credit::empty(end.at);
            flow.drain = DrainState {
                lease: None,
                asked_for: end.asked_for,
                looked: end.looked.or(flow.drain.looked),
            };
        })
        .await?;
        Ok(())
    }

    async fn backlog_rows(
        &self,
        tenant: &TenantId,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        let tenant = tenant.clone();
        let after = after.map_or(Ok((i64::MIN, String::new())), position)?;
        let messages = self
            .readers
            .read(move |db| open_rows(db, &tenant, part, limit, &after))
            .await?;
        let last = messages.last().filter(|_| messages.len() == limit);
        Ok(Rows {
            next: last.map(cursor),
            messages,
        })
    }

    async fn claim_from_backlog(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        self.claim(wanted, now).await
    }

    async fn registrations(
        &self,
        _: u16,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page<Registration>> {
        let read = |db: &Connection| {
            let mut items = Vec::new();
            stepping::awake(db, None, |tenant, webhook| {
                items.push(Registration {
                    tenant,
                    webhook,
                    touched_at: Timestamp::ZERO,
                });
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(items)
        };
        let items = self.readers.read(read).await?;
        Ok(Page { items, next: None })
    }

    async fn registration(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<Registration>> {
        Ok(Some(Registration {
            tenant: tenant.clone(),
            webhook,
            touched_at: Timestamp::ZERO,
        }))
    }

    async fn unregister_backlog(&self, _: &Registration) -> Result<()> {
        Ok(())
    }

    async fn round(&self) -> Result<Round> {
        Ok(Round::default())
    }

    async fn store_round(&self, _: &Round) -> Result<()> {
        Ok(())
    }

    async fn backlog_size(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<BacklogSize> {
        let (tenant, limit) = (tenant.clone(), codec::limit(COUNTED_ROWS));
        let count = move |db: &Connection| {
            let mut count = 0_u64;
            for is_retry in [false, true] {
                let id = webhook.to_string();
                let of = (tenant.as_str(), id, is_retry, now.as_millis(), limit);
                let mut due = db.prepare_cached(DUE)?;
                let mut rows = due.query(of)?;
                while rows.next()?.is_some() {
                    count += 1;
                }
            }
            Ok(count)
        };
        Ok(BacklogSize::of(self.readers.read(count).await?))
    }
}

fn open_rows(
    db: &Connection,
    tenant: &TenantId,
    part: BacklogPart,
    limit: usize,
    (due_at, event): &(i64, String),
) -> std::result::Result<Vec<AttemptMessage>, Fault> {
    let is_retry = match part.kind {
        AttemptKind::First => false,
        AttemptKind::Retry => true,
    };
    let read = |row: &Row<'_>| {
        Ok(AttemptMessage {
            tenant: tenant.clone(),
            id: DeliveryId {
                event: codec::text(row, 0)?,
                webhook: part.webhook,
            },
            next_retry_at: codec::instant(row, 1)?,
            fresh: false,
        })
    };
    let id = part.webhook.to_string();
    codec::all(
        &mut *db.prepare_cached(OPEN)?,
        &[
            &tenant.as_str(),
            &id,
            &is_retry,
            &codec::limit(limit),
            due_at,
            event,
        ],
        read,
    )
}

/// The due time and the event of the last row of a page.
fn position(cursor: &Cursor) -> Result<(i64, String)> {
    let (due_at, event) = cursor.0.split_once('/').ok_or(Error::InvalidCursor)?;
    let due_at = due_at.parse().map_err(|_| Error::InvalidCursor)?;
    Ok((due_at, event.to_owned()))
}

fn cursor(last: &AttemptMessage) -> Cursor {
    let due_at = last.next_retry_at.as_millis();
    Cursor(format!("{due_at}/{}", last.id.event))
}
