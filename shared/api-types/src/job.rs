//! Bulk retries.

use postrider_ports::jobs::{Count, JobState, RetryJob};
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
    /// Only count, up to 10,000.
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
    /// How many deliveries the filter matches, as far as they are counted.
    pub matched: u64,
    /// Whether `matched` is the final number. `false` while a bulk retry is still counting, and for a dry run that stopped
    /// counting because there are more than 10,000 or because it took too long: `matched` is then a lower bound.
    #[serde(default = "counted")]
    #[schema(required)]
    pub counted: bool,
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

/// A gateway that does not send the field counts before it answers.
const fn counted() -> bool {
    true
}

impl RetryJobView {
    #[must_use]
    pub const fn dry_run(count: Count) -> Self {
        let (matched, counted) = match count {
            Count::Exactly(matched) => (matched, true),
            Count::AtLeast(matched) => (matched, false),
        };
        Self {
            id: None,
            matched,
            counted,
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
            counted: matches!(job.count(), Count::Exactly(_)),
            state: Some(job.state.into()),
            done: job.done,
            failed: job.failed,
            created_at: Some(ApiTime(job.created_at)),
        }
    }
}
