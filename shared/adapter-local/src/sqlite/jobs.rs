//! Bulk retries and their progress.

use async_trait::async_trait;
use postrider_domain::event::Label;
use postrider_domain::ids::{JobId, TenantId};
use postrider_ports::Result;
use postrider_ports::jobs::{JobState, Jobs, RetryJob};
use rusqlite::{Connection, Row, params};

use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{SqliteStore, codec};

pub(super) const ONE: &str = "SELECT job FROM jobs WHERE tenant = ?1 AND id = ?2";

pub(super) const OF_TENANT: &str = "SELECT job FROM jobs WHERE tenant = ?1";

pub(super) const UNFINISHED: &str =
    "SELECT tenant, job FROM jobs WHERE state = 'running' ORDER BY created_at";

#[async_trait]
impl Jobs for SqliteStore {
    async fn create_job(&self, tenant: &TenantId, job: RetryJob) -> Result<()> {
        let tenant = tenant.clone();
        self.writer.write(move |tx| save(tx, &tenant, &job)).await
    }

    async fn job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>> {
        let tenant = tenant.clone();
        self.readers.read(move |db| find(db, &tenant, id)).await
    }

    async fn progress_job(&self, tenant: &TenantId, job: RetryJob) -> Result<Option<RetryJob>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let Some(stored) = find(tx.db(), &tenant, job.id)? else {
                    return Ok(None);
                };
                let Some(advanced) = stored.advanced_to(&job) else {
                    return Ok(Some(stored));
                };
                save(tx, &tenant, &advanced)?;
                Ok(Some(advanced))
            })
            .await
    }

    async fn cancel_job(&self, tenant: &TenantId, id: JobId) -> Result<Option<RetryJob>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let Some(mut job) = find(tx.db(), &tenant, id)? else {
                    return Ok(None);
                };
                if job.state == JobState::Running {
                    job.state = JobState::Cancelled;
                    save(tx, &tenant, &job)?;
                }
                Ok(Some(job))
            })
            .await
    }

    async fn unfinished_jobs(&self) -> Result<Vec<(TenantId, RetryJob)>> {
        self.readers
            .read(move |db| {
                let found = codec::all(&mut *db.prepare_cached(UNFINISHED)?, &[], |row| {
                    readable("jobs", "unfinished", read(row))
                })?;
                Ok(found.into_iter().flatten().collect())
            })
            .await
    }
}

/// Removes a session from the records of finished jobs. Returns whether no other job has it.
pub(super) fn erase_session(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    session: &Label,
) -> std::result::Result<bool, Fault> {
    let jobs = codec::all(
        &mut *tx.db().prepare_cached(OF_TENANT)?,
        &[&tenant.as_str()],
        |row| readable("jobs", "of a session", codec::json::<RetryJob>(row, 0)),
    )?;
    let mut is_done = true;
    for job in jobs.into_iter().flatten() {
        match job.without_session(session) {
            Some(_) if job.is_unfinished() => is_done = false,
            Some(erased) => save(tx, tenant, &erased)?,
            None => {}
        }
    }
    Ok(is_done)
}

fn read(row: &Row<'_>) -> std::result::Result<(TenantId, RetryJob), Fault> {
    Ok((codec::text(row, 0)?, codec::json(row, 1)?))
}

fn find(
    db: &Connection,
    tenant: &TenantId,
    id: JobId,
) -> std::result::Result<Option<RetryJob>, Fault> {
    codec::first(
        &mut *db.prepare_cached(ONE)?,
        &[&tenant.as_str(), &id.to_string()],
        |row| codec::json(row, 0),
    )
}

fn save(tx: &Tx<'_, '_>, tenant: &TenantId, job: &RetryJob) -> std::result::Result<(), Fault> {
    // The column says who finds the job: an unfinished one is `running`.
    let state = if job.is_unfinished() {
        JobState::Running
    } else {
        job.state
    };
    tx.execute(
        "INSERT OR REPLACE INTO jobs (tenant, id, state, created_at, job) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![tenant.as_str(), job.id.to_string(), state.as_str(), job.created_at.as_millis(), codec::to_json(job)?],
    )?;
    Ok(())
}
