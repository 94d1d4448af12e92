//! What an operator sends: retries of one delivery or of all that match a filter, and late deliveries.

mod late;
mod slices;

use std::sync::Arc;

use postrider_domain::delivery::{Delivery, Force, Status};
use postrider_domain::ids::{DeliveryId, JobId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::time::Millis;
use postrider_ports::RetryStore;
use postrider_ports::history::{Filter, MAX_EXAMINED};
use postrider_ports::interventions::Requeued;
use postrider_ports::jobs::{Count, JobState, RetryJob};
use postrider_ports::queue::{Queue, QueueMessage};
use tokio::select;

use crate::error::Conflict;
use crate::{GatewayError, Ports, telemetry};

/// How far a dry run counts.
const MAX_COUNTED: u64 = 10_000;
/// How long a dry run counts: a filter may match few of very many rows.
const MAX_COUNTING: Millis = Millis::from_seconds(10);
/// The steps that starting a bulk retry runs itself: one lists the first slice, one requeues it.
const FIRST_STEPS: usize = 2;
/// How long it runs them: the operator waits for the answer, and on AWS a slow store must not use up the function's time.
const FIRST_STEPS_WITHIN: Millis = Millis::from_seconds(10);

/// Requeues deliveries.
pub struct Retries {
    ports: Ports<dyn RetryStore>,
    queue: Arc<dyn Queue>,
    slice: usize,
}

impl Retries {
    /// `queue` gets the messages for requeued deliveries.
    #[must_use]
    pub fn new(ports: impl Into<Ports<dyn RetryStore>>, queue: Arc<dyn Queue>) -> Self {
        Self {
            ports: ports.into(),
            queue,
            slice: slices::SLICE,
        }
    }

    /// Requeues so many rows in each step of a bulk retry.
    #[must_use]
    pub fn in_slices_of(self, slice: usize) -> Self {
        Self { slice, ..self }
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
            Requeued::Erased => Err(Conflict::PayloadGone.into()),
            Requeued::Missing => Err(GatewayError::NotFound { what: "delivery" }),
        }
    }

    /// How many deliveries a bulk retry would requeue: exactly, up to a limit and for a limited time.
    pub async fn count(&self, tenant: &TenantId, filter: Filter) -> Result<Count, GatewayError> {
        let filter = retriable(filter)?;
        let deadline = self.ports.clock.now().plus(MAX_COUNTING);
        let (mut matched, mut cursor) = (0, None);
        loop {
            let page = self
                .ports
                .store
                .list(tenant, &filter, MAX_EXAMINED, cursor.as_ref())
                .await?;
            matched += page.items.len() as u64;
            if matched > MAX_COUNTED {
                return Ok(Count::AtLeast(MAX_COUNTED));
            }
            match page.next {
                None => return Ok(Count::Exactly(matched)),
                Some(_) if self.ports.clock.now() >= deadline => {
                    return Ok(Count::AtLeast(matched));
                }
                Some(next) => cursor = Some(next),
            }
        }
    }

    /// Stores a bulk retry, then runs its first slice for a limited time; the sweep or the poller runs the rest. Once it is stored it will be
    /// done, so an error of the first slice is not an error of this call.
    pub async fn begin(&self, tenant: &TenantId, filter: Filter) -> Result<RetryJob, GatewayError> {
        let now = self.ports.clock.now();
        let mut filter = retriable(filter)?;
        filter.to = Some(filter.to.map_or(now, |to| to.min(now)));
        let id = JobId::new(now, &self.ports.entropy.bytes());
        let job = RetryJob::new(id, filter, now);
        self.ports.store.create_job(tenant, job.clone()).await?;
        select! {
            biased;
            further = self.first_steps(tenant, job.clone()) => Ok(further),
            () = self.ports.clock.sleep_until(now.plus(FIRST_STEPS_WITHIN)) => Ok(job),
        }
    }

    async fn first_steps(&self, tenant: &TenantId, mut job: RetryJob) -> RetryJob {
        for _ in 0..FIRST_STEPS {
            if job.state != JobState::Running {
                break;
            }
            match self.carry_on(tenant, job.clone()).await {
                Ok(further) => job = further,
                Err(reason) => {
                    telemetry::retry_job_failed(job.id, &reason);
                    break;
                }
            }
        }
        job
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
