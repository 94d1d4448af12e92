//! Bulk retries, done in slices.

use async_trait::async_trait;
use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::Label;
use postrider_domain::ids::{DeliveryId, JobId, TenantId};
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::history::{Cursor, Filter};

/// A bulk retry. Two walks over the same list, newest first: one counts, and one requeues behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryJob {
    pub id: JobId,
    /// Its `to` is at most the start of the job, so that the job ends.
    pub filter: Filter,
    pub state: JobState,
    /// How many rows the filter matched, as far as they are counted.
    pub matched: u64,
    /// How many were requeued.
    pub done: u64,
    /// How many could not be requeued.
    pub failed: u64,
    #[serde(default = "Walk::ended")]
    pub counting: Walk,
    #[serde(default)]
    pub requeueing: Walk,
    /// The rows that are being requeued. Stored before the first of them changes, so that after a crash each of them is
    /// counted exactly once.
    #[serde(default)]
    pub slice: Vec<ListedRow>,
    /// Incremented by each write of progress; fences off a second process that runs the same slice.
    #[serde(default)]
    pub step: u64,
    pub created_at: Timestamp,
}

impl RetryJob {
    #[must_use]
    pub fn new(id: JobId, filter: Filter, now: Timestamp) -> Self {
        Self {
            id,
            filter,
            state: JobState::Running,
            matched: 0,
            done: 0,
            failed: 0,
            counting: Walk::START,
            requeueing: Walk::START,
            slice: Vec::new(),
            step: 0,
            created_at: now,
        }
    }

    #[must_use]
    pub fn count(&self) -> Count {
        match self.counting {
            Walk::Ended => Count::Exactly(self.matched),
            Walk::At(_) => Count::AtLeast(self.matched),
        }
    }

    /// Whether a process must continue it: it runs, or it was cancelled in the middle of a slice whose rows are not
    /// counted yet.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        match self.state {
            JobState::Running => true,
            JobState::Cancelled => !self.slice.is_empty(),
            JobState::Done => false,
        }
    }

    /// The job without the session that it selected by; `None` if it did not select by this one.
    #[must_use]
    pub fn without_session(&self, session: &Label) -> Option<Self> {
        let selects = self.filter.session_id.as_ref() == Some(session);
        selects.then(|| Self {
            filter: Filter {
                session_id: None,
                ..self.filter.clone()
            },
            ..self.clone()
        })
    }

    /// What a store writes when `next` is reported as the progress of this stored job. `None` if another process was faster.
    #[must_use]
    pub fn advanced_to(&self, next: &Self) -> Option<Self> {
        let state = match self.state {
            JobState::Running => next.state,
            ended @ (JobState::Cancelled | JobState::Done) => ended,
        };
        (next.step == self.step + 1).then(|| Self {
            state,
            ..next.clone()
        })
    }
}

/// How far a walk over a list has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Walk {
    /// It continues here; `None` is the start.
    At(Option<Cursor>),
    Ended,
}

impl Default for Walk {
    fn default() -> Self {
        Self::START
    }
}

impl Walk {
    pub const START: Self = Self::At(None);

    const fn ended() -> Self {
        Self::Ended
    }

    /// Where a walk stands after a page.
    #[must_use]
    pub fn after(next: Option<Cursor>) -> Self {
        next.map_or(Self::Ended, |next| Self::At(Some(next)))
    }
}

/// A row as it was when its slice was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRow {
    pub id: DeliveryId,
    status: Status,
    version: u64,
    /// Attempts before it was last requeued.
    attempts_before: u32,
}

impl ListedRow {
    /// Whether the row was requeued since. A closed row changes in no other way. An open one may be attempted meanwhile, but
    /// only requeueing starts its attempts again.
    #[must_use]
    pub fn was_requeued(&self, row: &Delivery) -> bool {
        match self.status {
            Status::Dead | Status::Delivered => row.version != self.version,
            Status::Failed | Status::Pending => {
                Self::from(row).attempts_before != self.attempts_before
            }
        }
    }
}

impl From<&Delivery> for ListedRow {
    fn from(row: &Delivery) -> Self {
        Self {
            id: row.id,
            status: row.status,
            version: row.version,
            attempts_before: row.attempts_total.saturating_sub(row.attempt_count),
        }
    }
}

/// How many rows match a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    Exactly(u64),
    /// Counting has not reached the end.
    AtLeast(u64),
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

    /// Records progress and returns the stored job. `job.step` must follow the stored step: if another process was faster,
    /// nothing changes. A job that was cancelled in the meantime stays cancelled, with the new counts.
    async fn progress_job(&self, tenant: &TenantId, job: RetryJob) -> Result<Option<RetryJob>>;

    /// Cancels a running job. `None` if it does not exist; a finished one is returned unchanged.
    async fn cancel_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>>;

    /// The [unfinished](RetryJob::is_unfinished) jobs of all tenants.
    async fn unfinished_jobs(&self) -> Result<Vec<(TenantId, RetryJob)>>;
}
