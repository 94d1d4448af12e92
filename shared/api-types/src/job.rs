//! Bulk retries.

use postrider_ports::jobs::{JobState, RetryJob};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::filter::FilterParameters;
use crate::json::{Object, strict};
use crate::schema;
use crate::time::ApiTime;
use crate::word::Word;

/// The deliveries to retry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRetry {
    /// `status` is `dead` by default and may be `failed`.
    #[serde(deserialize_with = "strict::<_, Object<FilterParameters>>")]
    #[schema(value_type = schema::RetryFilter)]
    pub filter: FilterParameters,
    /// Only count.
    #[serde(default)]
    pub dry_run: bool,
}

/// The progress of a bulk retry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Retry)]
pub struct RetryJobView {
    /// `null` for a dry run.
    #[schema(required, value_type = Option<schema::JobId>)]
    pub id: Option<String>,
    /// How many deliveries the filter matched at the start.
    pub matched: u64,
    /// `null` for a dry run.
    #[schema(required, value_type = Option<schema::RetryState>)]
    pub state: Option<Word<JobState>>,
    /// How many were requeued.
    #[serde(default)]
    #[schema(required)]
    pub done: u64,
    /// How many could not be requeued.
    #[serde(default)]
    #[schema(required)]
    pub failed: u64,
    /// When it started; `null` for a dry run.
    #[schema(required)]
    pub created_at: Option<ApiTime>,
}

impl RetryJobView {
    #[must_use]
    pub const fn dry_run(matched: u64) -> Self {
        Self {
            id: None,
            matched,
            state: None,
            done: 0,
            failed: 0,
            created_at: None,
        }
    }

    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state.as_ref().and_then(Word::known) == Some(JobState::Running)
    }
}

impl From<RetryJob> for RetryJobView {
    fn from(job: RetryJob) -> Self {
        Self {
            id: Some(job.id.to_string()),
            matched: job.matched,
            state: Some(job.state.into()),
            done: job.done,
            failed: job.failed,
            created_at: Some(ApiTime(job.created_at)),
        }
    }
}
