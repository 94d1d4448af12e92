//! Bulk retries and their progress. An unfinished job has a marker among the chores, where the poller finds it.

use async_trait::async_trait;
use postrider_domain::event::Label;
use postrider_domain::ids::{JobId, TenantId};
use postrider_domain::time::Millis;
use postrider_ports::jobs::{JobState, Jobs, RetryJob};
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{Condition, Query, Step, Table, Transacted};
use super::item::{Item, s, seconds};
use super::keys::{CHORES, Key};
use crate::fault::{self, readable, unreadable};

/// How long a job is kept.
const RETENTION: Millis = Millis::from_seconds(30 * 86_400);

/// How many times a change is retried when other writers change the same job.
const TRIES: usize = 5;

const MARKER: &str = "job#";

#[async_trait]
impl Jobs for DynamoStore {
    async fn create_job(&self, tenant: &TenantId, job: RetryJob) -> Result<()> {
        self.save(tenant, &job, None).await?;
        Ok(())
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>> {
        Ok(self.stored_job(tenant, id).await?.map(|(job, _)| job))
    }

    async fn progress_job(&self, tenant: &TenantId, job: RetryJob) -> Result<Option<RetryJob>> {
        let progress = |stored: RetryJob| stored.advanced_to(&job).unwrap_or(stored);
        self.change_job(tenant, job.id, progress).await
    }

    async fn cancel_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>> {
        let cancel = |stored: RetryJob| {
            let state = match stored.state {
                JobState::Running | JobState::Cancelled => JobState::Cancelled,
                JobState::Done => JobState::Done,
            };
            RetryJob { state, ..stored }
        };
        self.change_job(tenant, id, cancel).await
    }

    async fn unfinished_jobs(&self) -> Result<Vec<(TenantId, RetryJob)>> {
        let markers = Query::prefix(Table::Deliveries, CHORES, MARKER);
        let mut unfinished = Vec::new();
        for marker in self.query_all(markers).await? {
            let Some((tenant, id)) = readable(Key::of(&marker).and_then(|key| read_marker(&key)))?
            else {
                continue;
            };
            let job = readable(self.job(&tenant, id).await)?.flatten();
            unfinished.extend(job.filter(RetryJob::is_unfinished).map(|job| (tenant, job)));
        }
        unfinished.sort_by_key(|(_, job)| job.created_at);
        Ok(unfinished)
    }
}

impl DynamoStore {
    /// Removes a session from the records of finished jobs. Returns whether no other job has it.
    pub(super) async fn erase_session_from_jobs(
        &self,
        tenant: &TenantId,
        session: &Label,
    ) -> Result<bool> {
        let query = Query::prefix(Table::Deliveries, tenant.as_str(), MARKER);
        let mut is_done = true;
        for item in self.query_all(query).await? {
            let Some((job, _)) = readable(read(&item))? else {
                continue;
            };
            let erased = |stored: RetryJob| stored.without_session(session).unwrap_or(stored);
            match job.without_session(session) {
                Some(_) if job.is_unfinished() => is_done = false,
                Some(_) => drop(self.change_job(tenant, job.id, erased).await?),
                None => {}
            }
        }
        Ok(is_done)
    }

    /// Changes a job with a rule that receives its stored state.
    async fn change_job(
        &self,
        tenant: &TenantId,
        id: JobId,
        rule: impl Fn(RetryJob) -> RetryJob + Send + Sync,
    ) -> Result<Option<RetryJob>> {
        for _ in 0..TRIES {
            let Some((stored, text)) = self.stored_job(tenant, id).await? else {
                return Ok(None);
            };
            let changed = rule(stored.clone());
            if changed == stored || self.save(tenant, &changed, Some(text)).await? {
                return Ok(Some(changed));
            }
        }
        Err(fault::contended("the job"))
    }

    /// A job, and the text it was stored as.
    async fn stored_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<(RetryJob, String)>> {
        let key = Key::job(tenant, id);
        let Some(item) = self.get(Table::Deliveries, &key).await? else {
            return Ok(None);
        };
        read(&item).map(Some)
    }

    /// Stores a job if it is unchanged since it was read, and marks it while it is unfinished. Returns whether it was stored.
    async fn save(&self, tenant: &TenantId, job: &RetryJob, seen: Option<String>) -> Result<bool> {
        let text = serde_json::to_string(job).map_err(|error| Error::Broken(error.to_string()))?;
        let mut item = Key::job(tenant, job.id).item();
        item.insert("job".to_owned(), s(text));
        item.insert(
            "expires_at".to_owned(),
            seconds(job.created_at.plus(RETENTION)),
        );
        let condition = seen.map(|seen| Condition::new("#job = :seen").with("seen", s(seen)));
        let marker = Key::new(CHORES, format!("{MARKER}{tenant}#{}", job.id));
        let marked = if job.is_unfinished() {
            Step::Put(Table::Deliveries, marker.item(), None)
        } else {
            Step::Delete(Table::Deliveries, marker, None)
        };
        let steps = [Step::Put(Table::Deliveries, item, condition), marked];
        Ok(self.transact(&steps).await? == Transacted::Done)
    }
}

/// A job, and the text it was stored as.
fn read(item: &Item) -> Result<(RetryJob, String)> {
    let text = item.get("job").and_then(|text| text.as_s().ok());
    let text = text.ok_or_else(|| unreadable("a job"))?;
    let job = serde_json::from_str(text).map_err(|_| unreadable("a job"))?;
    Ok((job, text.clone()))
}

/// The marker of a job with this key, to be deleted with it.
pub(super) fn marker_of(tenant: &TenantId, key: &Key) -> Option<Key> {
    let id = key.sk.strip_prefix(MARKER)?;
    Some(Key::new(CHORES, format!("{MARKER}{tenant}#{id}")))
}

fn read_marker(marker: &Key) -> Result<(TenantId, JobId)> {
    let parts = || {
        let (tenant, id) = marker.sk.strip_prefix(MARKER)?.split_once('#')?;
        Some((tenant.parse().ok()?, id.parse().ok()?))
    };
    parts().ok_or_else(|| unreadable("the marker of a job"))
}
