//! Long work on somebody's word, done slice by slice.

use async_trait::async_trait;
use postrider_domain::ids::{JobId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::{Cursor, Filter};

/// A bulk retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryJob {
    /// Its id.
    pub id: JobId,
    /// Which rows; `to` is at most the job's beginning, so that it ends.
    pub filter: Filter,
    /// Whether it goes on.
    pub state: JobState,
    /// How many rows the filter found when it began.
    pub matched: u64,
    /// How many were put back.
    pub done: u64,
    /// How many could not be.
    pub failed: u64,
    /// Where the next slice begins.
    pub cursor: Option<Cursor>,
    /// When it began.
    pub created_at: Timestamp,
}

/// Whether a job goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Slices are still to come.
    Running,
    /// All is done.
    Done,
    /// A person stopped it; what was put back stays so.
    Cancelled,
}

impl JobState {
    pub const ALL: [Self; 3] = [Self::Running, Self::Done, Self::Cancelled];

    /// The name used in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Keeps jobs.
#[async_trait]
pub trait Jobs: Send + Sync {
    /// Stores a new job.
    async fn create_job(&self, tenant: &TenantId, job: RetryJob) -> Result<()>;

    /// One job.
    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>>;

    /// Notes the progress of a running job. A job that was cancelled meanwhile stays cancelled, with the new counts;
    /// what is stored afterwards is returned.
    async fn progress_job(&self, tenant: &TenantId, job: RetryJob) -> Result<Option<RetryJob>>;

    /// Stops a running job. `None` when there is no such job; a finished one is returned as it is.
    async fn cancel_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>>;

    /// Every running job of every tenant.
    async fn running_jobs(&self) -> Result<Vec<(TenantId, RetryJob)>>;
}
