//! A store whose process is killed at a chosen call, and which counts the rows of each call.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use postrider_domain::attempt::Attempt;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::event::Event;
use postrider_domain::ids::{DeliveryId, EventId, JobId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::history::{Cursor, Filter, History, HourlyStats, Page};
use postrider_ports::interventions::{Added, Interventions, Requeued};
use postrider_ports::jobs::{Jobs, RetryJob};
use postrider_ports::{Error, Result, Store};
use postrider_testkit::clock::SteppedClock;

/// What happens to the call during which the process is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LastCall {
    /// It never reaches the store.
    Lost,
    /// The store carries it out, but its answer is lost.
    Unanswered,
}

pub(crate) struct InterruptedStore {
    store: Arc<dyn Store>,
    calls_left: AtomicUsize,
    last: LastCall,
    pub(crate) most_listed: AtomicUsize,
    pub(crate) requeued: AtomicUsize,
    /// A row that cannot be read.
    pub(crate) unreadable: Option<DeliveryId>,
    /// Each list takes five seconds of this clock.
    pub(crate) slow: Option<Arc<SteppedClock>>,
}

impl InterruptedStore {
    pub(crate) fn new(store: Arc<dyn Store>, calls: usize, last: LastCall) -> Self {
        Self {
            store,
            calls_left: AtomicUsize::new(calls),
            last,
            most_listed: AtomicUsize::new(0),
            requeued: AtomicUsize::new(0),
            unreadable: None,
            slow: None,
        }
    }

    /// Runs a call unless the process is dead.
    async fn call<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let killed = || Error::Unavailable("killed".to_owned());
        let left = |left: usize| left.checked_sub(1);
        match self
            .calls_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
        {
            Ok(1) => {
                if let LastCall::Unanswered = self.last {
                    call.await?;
                }
                Err(killed())
            }
            Ok(_) => call.await,
            Err(_) => Err(killed()),
        }
    }
}

#[async_trait]
impl History for InterruptedStore {
    async fn delivery(&self, tenant: &TenantId, id: DeliveryId) -> Result<Option<Delivery>> {
        if self.unreadable == Some(id) {
            return Err(Error::Broken("the row cannot be read".to_owned()));
        }
        self.call(self.store.delivery(tenant, id)).await
    }

    async fn event(&self, tenant: &TenantId, id: EventId) -> Result<Option<Arc<Event>>> {
        self.call(self.store.event(tenant, id)).await
    }

    async fn rows_of(&self, tenant: &TenantId, event: EventId) -> Result<Vec<Delivery>> {
        self.call(self.store.rows_of(tenant, event)).await
    }

    async fn attempts(&self, tenant: &TenantId, id: DeliveryId) -> Result<Vec<Attempt>> {
        self.call(self.store.attempts(tenant, id)).await
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        limit: usize,
        cursor: Option<&Cursor>,
    ) -> Result<Page<Delivery>> {
        let page = self
            .call(self.store.list(tenant, filter, limit, cursor))
            .await?;
        if let Some(clock) = &self.slow {
            clock.advance(Millis::from_seconds(5));
        }
        self.most_listed
            .fetch_max(page.items.len(), Ordering::SeqCst);
        Ok(page)
    }

    async fn stats(
        &self,
        tenant: &TenantId,
        webhook: Option<WebhookId>,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<HourlyStats>> {
        self.call(self.store.stats(tenant, webhook, from, to)).await
    }
}

#[async_trait]
impl Interventions for InterruptedStore {
    async fn requeue(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
        now: Timestamp,
    ) -> Result<Requeued> {
        self.requeued.fetch_add(1, Ordering::SeqCst);
        self.call(self.store.requeue(tenant, id, force, now)).await
    }

    async fn add_delivery(&self, row: Delivery) -> Result<Added> {
        self.call(self.store.add_delivery(row)).await
    }

    async fn end_deliveries_of_deleted_webhooks(
        &self,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        self.call(self.store.end_deliveries_of_deleted_webhooks(limit, now))
            .await
    }
}

#[async_trait]
impl Jobs for InterruptedStore {
    async fn create_job(&self, tenant: &TenantId, job: RetryJob) -> Result<()> {
        self.call(self.store.create_job(tenant, job)).await
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>> {
        self.call(self.store.job(tenant, id)).await
    }

    async fn progress_job(&self, tenant: &TenantId, job: RetryJob) -> Result<Option<RetryJob>> {
        self.call(self.store.progress_job(tenant, job)).await
    }

    async fn cancel_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>> {
        self.call(self.store.cancel_job(tenant, id)).await
    }

    async fn unfinished_jobs(&self) -> Result<Vec<(TenantId, RetryJob)>> {
        self.call(self.store.unfinished_jobs()).await
    }
}
