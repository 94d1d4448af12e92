//! Retries that an operator starts: of one delivery, or of all that match a filter.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::{Delivery, Force, Status};
use postrider_domain::ids::{DeliveryId, JobId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_ports::RetryStore;
use postrider_ports::history::{Filter, MAX_EXAMINED};
use postrider_ports::interventions::Requeued;
use postrider_ports::jobs::{JobState, RetryJob};
use postrider_ports::queue::{Queue, QueueMessage};

use crate::error::Conflict;
use crate::{GatewayError, Ports};

/// How many rows one slice of a bulk retry requeues.
const SLICE: usize = 200;
/// How many of them at the same time; each is a few calls on AWS.
const AT_ONCE: usize = 16;

/// Requeues deliveries.
pub struct Retries {
    ports: Ports<dyn RetryStore>,
    queue: Arc<dyn Queue>,
}

impl Retries {
    /// `queue` gets the messages for requeued deliveries.
    #[must_use]
    pub fn new(ports: impl Into<Ports<dyn RetryStore>>, queue: Arc<dyn Queue>) -> Self {
        Self {
            ports: ports.into(),
            queue,
        }
    }

    pub async fn retry_now(
        &self,
        tenant: &TenantId,
        id: DeliveryId,
        force: Force,
    ) -> Result<Delivery, GatewayError> {
        match self
            .ports
            .store
            .requeue(tenant, id, force, self.ports.clock.now())
            .await?
        {
            Requeued::Done(row) => {
                self.queue.send(vec![QueueMessage::of(&row)]).await;
                Ok(*row)
            }
            Requeued::InFlight => Err(Conflict::InFlight.into()),
            Requeued::Delivered => Err(Conflict::Delivered.into()),
            Requeued::Pending => Err(Conflict::Pending.into()),
            Requeued::WebhookDisabled => Err(Conflict::WebhookDisabled.into()),
            Requeued::Missing => Err(GatewayError::NotFound { what: "delivery" }),
        }
    }

    /// How many deliveries a bulk retry would requeue.
    pub async fn count(&self, tenant: &TenantId, filter: Filter) -> Result<u64, GatewayError> {
        let filter = retriable(filter)?;
        let (mut matched, mut cursor) = (0, None);
        loop {
            let page = self
                .ports
                .store
                .list(tenant, &filter, MAX_EXAMINED, cursor.as_ref())
                .await?;
            matched += page.items.len() as u64;
            match page.next {
                Some(next) => cursor = Some(next),
                None => return Ok(matched),
            }
        }
    }

    /// Starts a bulk retry and runs its first slice; the sweep runs the rest. The job is stored after the first slice, so
    /// that no sweep runs it at the same time.
    pub async fn begin(&self, tenant: &TenantId, filter: Filter) -> Result<RetryJob, GatewayError> {
        let now = self.ports.clock.now();
        let mut filter = retriable(filter)?;
        filter.to = Some(filter.to.map_or(now, |to| to.min(now)));
        let matched = self.count(tenant, filter.clone()).await?;
        let job = RetryJob {
            id: JobId::new(now, &self.ports.entropy.bytes()),
            filter,
            state: JobState::Running,
            matched,
            done: 0,
            failed: 0,
            cursor: None,
            created_at: now,
        };
        let job = self.slice(tenant, job).await?;
        self.ports.store.create_job(tenant, job.clone()).await?;
        Ok(job)
    }

    /// Runs the next slice of a job and stores its progress.
    ///
    /// # Errors
    /// If the store cannot be reached. The slice runs again later, which is harmless.
    pub async fn carry_on(
        &self,
        tenant: &TenantId,
        job: RetryJob,
    ) -> Result<RetryJob, GatewayError> {
        let job = self.slice(tenant, job).await?;
        let stored = self.ports.store.progress_job(tenant, job).await?;
        stored.ok_or(GatewayError::NotFound { what: "retry" })
    }

    async fn slice(&self, tenant: &TenantId, mut job: RetryJob) -> Result<RetryJob, GatewayError> {
        let cursor = job.cursor.as_ref();
        let page = self
            .ports
            .store
            .list(tenant, &job.filter, SLICE, cursor)
            .await?;
        let mut each = Vec::with_capacity(page.items.len());
        for row in &page.items {
            each.push(self.retry_now(tenant, row.id, Force::No));
        }
        // Run all of them before returning an error: every requeued row must get its queue message.
        let results: Vec<_> = stream::iter(each).buffered(AT_ONCE).collect().await;
        for result in results {
            match result {
                // A pending row was requeued by an interrupted run of this slice.
                Ok(_) | Err(GatewayError::Conflict(Conflict::Pending)) => job.done += 1,
                Err(GatewayError::Store(error)) => return Err(error.into()),
                Err(_) => job.failed += 1,
            }
        }
        if page.next.is_none() {
            job.state = JobState::Done;
        }
        job.cursor = page.next;
        Ok(job)
    }

    pub async fn job(&self, tenant: &TenantId, id: JobId) -> Result<RetryJob, GatewayError> {
        self.ports
            .store
            .job(tenant, id)
            .await?
            .ok_or(GatewayError::NotFound { what: "retry" })
    }

    /// Cancels a bulk retry. Deliveries already requeued are not undone.
    pub async fn cancel(&self, tenant: &TenantId, id: JobId) -> Result<RetryJob, GatewayError> {
        self.ports
            .store
            .cancel_job(tenant, id)
            .await?
            .ok_or(GatewayError::NotFound { what: "retry" })
    }
}

/// A bulk retry is for failed rows; the default is dead ones.
fn retriable(mut filter: Filter) -> Result<Filter, Invalid> {
    match filter.status {
        None => filter.status = Some(Status::Dead),
        Some(Status::Dead | Status::Failed) => {}
        Some(Status::Pending | Status::Delivered) => {
            return Err(Invalid::field("filter.status", "must be dead or failed"));
        }
    }
    Ok(filter)
}
