//! Bulk retries, done in slices.

use async_trait::async_trait;
use postrider_domain::ids::{JobId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::{Cursor, Filter};

/// A bulk retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryJob {
    pub id: JobId,
    /// Its `to` is at most the start of the job, so that the job ends.
    pub filter: Filter,
    pub state: JobState,
    /// How many rows the filter matched at the start.
    pub matched: u64,
    /// How many were requeued.
    pub done: u64,
    /// How many could not be requeued.
    pub failed: u64,
    pub cursor: Option<Cursor>,
    pub created_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Running,
    Done,
    /// An operator cancelled it; deliveries already requeued are not undone.
    Cancelled,
}

impl JobState {
    pub const ALL: [Self; 3] = [Self::Running, Self::Done, Self::Cancelled];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

#[async_trait]
pub trait Jobs: Send + Sync {
    async fn create_job(&self, tenant: &TenantId, job: RetryJob) -> Result<()>;

    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>>;

    /// Records the progress of a running job and returns the stored job. A job that was cancelled in the meantime stays
    /// cancelled, with the new counts.
    async fn progress_job(&self, tenant: &TenantId, job: RetryJob) -> Result<Option<RetryJob>>;

    /// Cancels a running job. `None` if it does not exist; a finished one is returned unchanged.
    async fn cancel_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>>;

    /// The running jobs of all tenants.
    async fn running_jobs(&self) -> Result<Vec<(TenantId, RetryJob)>>;
}
