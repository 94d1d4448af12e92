//! Erasures and their progress.

use std::time::Duration;

use async_trait::async_trait;
use postrider_domain::event::Label;
use postrider_domain::ids::{ErasureId, EventId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::erasures::{DeletedSettings, Erasure, Erasures, EventErased};
use postrider_ports::history::Cursor;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, OpenFlags, Row, params};

use super::fault::Fault;
use super::unreadable::readable;
use super::writer::Tx;
use super::{SqliteStore, checkpoint, codec, delete_tenant, erase, jobs};

pub(super) const ONE: &str = "SELECT erasure FROM erasures WHERE tenant = ?1 AND id = ?2";

pub(super) const NEWEST: &str =
    "SELECT erasure FROM erasures WHERE tenant = ?1 ORDER BY begun_at DESC, id DESC LIMIT ?2";

pub(super) const BEFORE: &str = "SELECT erasure FROM erasures WHERE tenant = ?1 AND (begun_at, id) < \
     (SELECT begun_at, id FROM erasures WHERE tenant = ?1 AND id = ?3) ORDER BY begun_at DESC, id DESC LIMIT ?2";

pub(super) const OPEN: &str = "SELECT tenant, erasure FROM erasures WHERE is_open = 1";

#[async_trait]
impl Erasures for SqliteStore {
    async fn create_erasure(&self, tenant: &TenantId, erasure: Erasure) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| save(tx, &tenant, &erasure))
            .await
    }

    async fn erasure(&self, tenant: &TenantId, id: ErasureId) -> Result<Option<Erasure>> {
        let tenant = tenant.clone();
        self.readers.read(move |db| find(db, &tenant, id)).await
    }

    async fn erasures(
        &self,
        tenant: &TenantId,
        limit: usize,
        before: Option<ErasureId>,
    ) -> Result<Vec<Erasure>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| page(db, &tenant, limit, before))
            .await
    }

    async fn progress_erasure(
        &self,
        tenant: &TenantId,
        erasure: Erasure,
    ) -> Result<Option<Erasure>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let Some(stored) = find(tx.db(), &tenant, erasure.id)? else {
                    return Ok(None);
                };
                let Some(advanced) = stored.advanced_to(&erasure) else {
                    return Ok(Some(stored));
                };
                // The record of a session's erasure no longer names the session.
                erase::overwriting(tx, |tx| save(tx, &tenant, &advanced))?;
                Ok(Some(advanced))
            })
            .await
    }

    async fn unfinished_erasures(&self) -> Result<Vec<(TenantId, Erasure)>> {
        self.readers
            .read(|db| {
                let found = codec::all(&mut *db.prepare_cached(OPEN)?, &[], |row| {
                    readable("erasures", "unfinished", read(row))
                })?;
                Ok(found.into_iter().flatten().collect())
            })
            .await
    }

    async fn erase_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.whole(|tx| erase::overwriting(tx, |tx| erase::erase(tx, &tenant, id, now)))
            })
            .await
    }

    async fn erase_from_jobs(&self, tenant: &TenantId, session: &Label) -> Result<bool> {
        let (tenant, session) = (tenant.clone(), session.clone());
        self.writer
            .write(move |tx| {
                tx.whole(|tx| {
                    erase::overwriting(tx, |tx| jobs::erase_session(tx, &tenant, &session))
                })
            })
            .await
    }

    async fn erased_at(&self, tenant: &TenantId, id: EventId) -> Result<Option<Timestamp>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| erase::erased_at(db, &tenant, id))
            .await
    }

    /// The pages that held it are overwritten by now, but the log still has them as they were. On a connection of its own,
    /// because the writer is always within a transaction.
    async fn scrub(&self) -> Result<bool> {
        let file = self.file.clone();
        let scrubbing = tokio::task::spawn_blocking(move || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let db = Connection::open_with_flags(&file, flags)?;
            super::settle(&db, SCRUB_CACHE_KIB)?;
            // Writers wait while the log is emptied. So first most of it is copied while they go on, and a reader in the way, such
            // as a backup, is not waited for: the next try comes soon.
            db.busy_timeout(SCRUB_WAITS)?;
            let page_size = checkpoint::page_size(&db)?;
            let log = checkpoint::checkpoint(&db, page_size, "PASSIVE")?;
            if log.is_busy || log.left() > SCRUB_LEAVES {
                return Ok(false);
            }
            let log = checkpoint::checkpoint(&db, page_size, "TRUNCATE")?;
            Ok::<_, Fault>(!log.is_busy)
        });
        let scrubbed = scrubbing.await;
        Ok(scrubbed.map_err(|_| Error::Broken("a checkpoint panicked".to_owned()))??)
    }

    fn lists_lag(&self) -> Millis {
        Millis::ZERO
    }

    async fn delete_settings(
        &self,
        tenant: &TenantId,
        limit: usize,
        _: Timestamp,
    ) -> Result<DeletedSettings> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.whole(|tx| {
                    erase::overwriting(tx, |tx| delete_tenant::settings(tx, &tenant, limit))
                })
            })
            .await
    }

    async fn delete_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.whole(|tx| erase::overwriting(tx, |tx| erase::delete(tx, &tenant, id, now)))
            })
            .await
    }

    async fn delete_rest(
        &self,
        tenant: &TenantId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Option<Cursor>> {
        let (tenant, after) = (tenant.clone(), after.cloned());
        self.writer
            .write(move |tx| {
                let after = after.as_ref();
                tx.whole(|tx| {
                    erase::overwriting(tx, |tx| delete_tenant::rest(tx, &tenant, limit, after))
                })
            })
            .await
    }

    async fn forget_tenant(&self, tenant: &TenantId) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| delete_tenant::forget(tx, &tenant)))
            .await
    }
}

const SCRUB_CACHE_KIB: i64 = 64;
/// How long writers may have to wait for a reader.
const SCRUB_WAITS: Duration = Duration::from_millis(50);
/// How many bytes may be left to copy while writers wait.
const SCRUB_LEAVES: i64 = 4_000_000;

fn read(row: &Row<'_>) -> std::result::Result<(TenantId, Erasure), Fault> {
    Ok((codec::text(row, 0)?, codec::json(row, 1)?))
}

/// Newest first, those before `before`.
pub(super) fn page(
    db: &Connection,
    tenant: &TenantId,
    limit: usize,
    before: Option<ErasureId>,
) -> std::result::Result<Vec<Erasure>, Fault> {
    let (tenant, limit) = (tenant.as_str(), codec::limit(limit));
    let read = |row: &Row<'_>| codec::json(row, 0);
    match before.map(|id| id.to_string()) {
        None => codec::all(&mut *db.prepare_cached(NEWEST)?, &[&tenant, &limit], read),
        Some(id) => {
            let of: [&dyn rusqlite::ToSql; 3] = [&tenant, &limit, &id];
            codec::all(&mut *db.prepare_cached(BEFORE)?, &of, read)
        }
    }
}

fn find(
    db: &Connection,
    tenant: &TenantId,
    id: ErasureId,
) -> std::result::Result<Option<Erasure>, Fault> {
    codec::first(
        &mut *db.prepare_cached(ONE)?,
        &[&tenant.as_str(), &id.to_string()],
        |row| codec::json(row, 0),
    )
}

fn save(tx: &Tx<'_, '_>, tenant: &TenantId, erasure: &Erasure) -> std::result::Result<(), Fault> {
    tx.execute(
        "INSERT OR REPLACE INTO erasures (tenant, id, begun_at, is_open, erasure) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            tenant.as_str(),
            erasure.id.to_string(),
            erasure.begun_at.as_millis(),
            !erasure.has_ended(),
            codec::to_json(erasure)?
        ],
    )?;
    Ok(())
}
