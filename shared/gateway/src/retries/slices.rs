//! Bulk retries, slice by slice. Every step is bounded and ends with one conditional write of the job.

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::Force;
use postrider_domain::ids::TenantId;
use postrider_ports::Error;
use postrider_ports::history::MAX_EXAMINED;
use postrider_ports::jobs::{JobState, ListedRow, RetryJob, Walk};

use super::Retries;
use crate::error::Conflict;
use crate::{GatewayError, telemetry};

/// How many rows one slice of a bulk retry requeues.
pub(super) const SLICE: usize = 200;
/// How many of them at the same time; each is a few calls on AWS.
const AT_ONCE: usize = 16;

/// The result for one row of a slice.
enum Settled {
    Requeued,
    NotRequeued,
    /// The job was cancelled before it came to this row.
    Untouched,
}

impl Retries {
    /// Runs the next step of a job and stores its progress: requeues the listed slice, counts a page and lists the next
    /// slice.
    ///
    /// # Errors
    /// If the store cannot be reached. The step runs again later and counts no row twice.
    pub async fn carry_on(
        &self,
        tenant: &TenantId,
        mut job: RetryJob,
    ) -> Result<RetryJob, GatewayError> {
        self.settle_slice(tenant, &mut job).await?;
        if job.state == JobState::Running {
            // Counting goes first and so stays ahead: requeued rows leave the list.
            self.count_page(tenant, &mut job).await?;
            self.list_slice(tenant, &mut job).await?;
        }
        job.step += 1;
        let stored = self.ports.store.progress_job(tenant, job).await?;
        stored.ok_or(GatewayError::NotFound { what: "retry" })
    }

    async fn settle_slice(
        &self,
        tenant: &TenantId,
        job: &mut RetryJob,
    ) -> Result<(), GatewayError> {
        let mut each = Vec::with_capacity(job.slice.len());
        for listed in std::mem::take(&mut job.slice) {
            each.push(self.settle(tenant, job.state, listed));
        }
        // Run all of them before returning an error: every requeued row must get its queue message.
        let results: Vec<_> = stream::iter(each).buffered(AT_ONCE).collect().await;
        for result in results {
            match result? {
                Settled::Requeued => job.done += 1,
                Settled::NotRequeued => job.failed += 1,
                Settled::Untouched => {}
            }
        }
        job.matched = job.matched.max(job.done + job.failed);
        Ok(())
    }

    async fn settle(
        &self,
        tenant: &TenantId,
        state: JobState,
        listed: ListedRow,
    ) -> Result<Settled, Error> {
        match self.try_settle(tenant, state, listed).await {
            // A row that cannot be read must not stop the others.
            Err(error) if !error.is_transient() => {
                telemetry::retry_failed(listed.id, &error);
                Ok(Settled::NotRequeued)
            }
            settled => settled,
        }
    }

    async fn try_settle(
        &self,
        tenant: &TenantId,
        state: JobState,
        listed: ListedRow,
    ) -> Result<Settled, Error> {
        // An interrupted run of this slice may have requeued it; since then it may even be dead again.
        if self.was_requeued(tenant, listed).await? {
            return Ok(Settled::Requeued);
        }
        if state != JobState::Running {
            return Ok(Settled::Untouched);
        }
        match self.retry_now(tenant, listed.id, Force::No).await {
            Ok(_) | Err(GatewayError::Conflict(Conflict::Pending)) => Ok(Settled::Requeued),
            Err(GatewayError::Store(error)) => Err(error),
            // Another process that runs the same slice may have requeued it just now.
            Err(_) if self.was_requeued(tenant, listed).await? => Ok(Settled::Requeued),
            Err(_) => Ok(Settled::NotRequeued),
        }
    }

    async fn was_requeued(&self, tenant: &TenantId, listed: ListedRow) -> Result<bool, Error> {
        let row = self.ports.store.delivery(tenant, listed.id).await?;
        Ok(row.is_some_and(|row| listed.was_requeued(&row)))
    }

    async fn count_page(&self, tenant: &TenantId, job: &mut RetryJob) -> Result<(), GatewayError> {
        let Walk::At(cursor) = &job.counting else {
            return Ok(());
        };
        let page = self
            .ports
            .store
            .list(tenant, &job.filter, MAX_EXAMINED, cursor.as_ref())
            .await?;
        job.matched += page.items.len() as u64;
        job.counting = Walk::after(page.next);
        Ok(())
    }

    async fn list_slice(&self, tenant: &TenantId, job: &mut RetryJob) -> Result<(), GatewayError> {
        if let Walk::At(cursor) = &job.requeueing {
            let page = self
                .ports
                .store
                .list(tenant, &job.filter, self.slice, cursor.as_ref())
                .await?;
            job.slice = page.items.iter().map(ListedRow::from).collect();
            job.requeueing = Walk::after(page.next);
        }
        if job.requeueing == Walk::Ended && job.slice.is_empty() {
            job.counting = Walk::Ended;
            job.state = JobState::Done;
        }
        Ok(())
    }
}
