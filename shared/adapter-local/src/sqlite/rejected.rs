//! Rejected requests: a ring buffer per source, and counts that give its current position.

mod store;

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::inbound::Rejection;
use postrider_domain::rejected::{KEPT_FOR, RejectedRequest, RejectionCounts, StoredRejection};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::rejected::{BatchedRejections, RejectedRequests, RejectionBatch};
use postrider_store_format::{Vault, seal_request, unseal_request};
use rusqlite::Row;

use super::fault::Fault;
use super::{SqliteStore, codec};
pub(super) use store::forget_source;
use store::{count, counts, store};

pub(super) const COUNTS: &str = "SELECT kept, counted, minute, in_minute FROM refused_tallies \
     WHERE tenant = ?1 AND source_id = ?2";

pub(super) const NEWEST: &str = "SELECT place, at, reason, body_bytes, is_cut, sealed FROM refused \
     WHERE tenant = ?1 AND source_id = ?2 AND at > ?3 ORDER BY place DESC LIMIT ?4";

pub(super) const ONE: &str = "SELECT place, at, reason, body_bytes, is_cut, sealed FROM refused \
     WHERE tenant = ?1 AND source_id = ?2 AND at > ?3 AND place = ?4";

pub(super) const OVERTAKEN: &str =
    "DELETE FROM refused WHERE tenant = ?1 AND source_id = ?2 AND place <= ?3";

pub(super) const FORGET: &str =
    "DELETE FROM refused WHERE id IN (SELECT id FROM refused WHERE at < ?1 ORDER BY at LIMIT ?2)";

#[async_trait]
impl RejectedRequests for SqliteStore {
    async fn store_rejected(&self, rejected: RejectedRequest) -> Result<Option<RejectedId>> {
        let RejectedRequest {
            tenant,
            source,
            request,
            ..
        } = &rejected;
        let sealed = seal_request(&self.vault, tenant, *source, request)?;
        self.writer
            .write(move |tx| tx.whole(|tx| store(tx, &rejected, &sealed)))
            .await
    }

    async fn rejections(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<StoredRejection>> {
        self.read_rejected(NEWEST, tenant, source, codec::limit(limit), now)
            .await
    }

    async fn rejected_request(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RejectedId,
        now: Timestamp,
    ) -> Result<Option<StoredRejection>> {
        let place = i64::try_from(id.place()).unwrap_or(i64::MAX);
        let found = self.read_rejected(ONE, tenant, source, place, now).await?;
        Ok(found.into_iter().find(|stored| stored.id == id))
    }

    async fn rejection_counts(
        &self,
        tenant: &TenantId,
        source: SourceId,
    ) -> Result<RejectionCounts> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| counts(db, &tenant, source))
            .await
    }
}

#[async_trait]
impl BatchedRejections for SqliteStore {
    async fn store_rejections(&self, batches: Vec<RejectionBatch>) -> Result<()> {
        let mut sealed = Vec::with_capacity(batches.len());
        for batch in batches {
            let seal = |rejected: &RejectedRequest| {
                seal_request(&self.vault, &batch.tenant, batch.source, &rejected.request)
            };
            let contents = batch.first.iter().map(seal).collect::<Result<Vec<_>>>()?;
            sealed.push((batch, contents));
        }
        self.writer
            .write(move |tx| {
                tx.whole(|tx| {
                    for (batch, contents) in &sealed {
                        for (rejected, content) in batch.first.iter().zip(contents) {
                            store(tx, rejected, content)?;
                        }
                        count(tx, &batch.tenant, batch.source, batch.more)?;
                    }
                    Ok(())
                })
            })
            .await
    }
}

impl SqliteStore {
    /// Runs a query whose last parameter is `last`.
    async fn read_rejected(
        &self,
        query: &'static str,
        tenant: &TenantId,
        source: SourceId,
        last: i64,
        now: Timestamp,
    ) -> Result<Vec<StoredRejection>> {
        let (tenant, vault) = (tenant.clone(), Arc::clone(&self.vault));
        let oldest = now.minus(KEPT_FOR).as_millis();
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(query)?;
                codec::all(
                    &mut statement,
                    &[&tenant.as_str(), &source.to_string(), &oldest, &last],
                    |row| read(row, &tenant, source, &vault),
                )
            })
            .await
    }
}

fn read(
    row: &Row<'_>,
    tenant: &TenantId,
    source: SourceId,
    vault: &Vault,
) -> std::result::Result<StoredRejection, Fault> {
    let (place, at) = (codec::number(row, 0)?, codec::instant(row, 1)?);
    let code: String = row.get(2)?;
    let mut reasons = Rejection::ALL.into_iter();
    let reason = reasons
        .find(|reason| reason.code() == code)
        .ok_or_else(|| codec::unreadable(row, 2))?;
    let sealed: Vec<u8> = row.get(5)?;
    Ok(StoredRejection {
        id: RejectedId::of(at, place),
        rejected: RejectedRequest {
            tenant: tenant.clone(),
            source,
            at,
            reason,
            request: unseal_request(vault, tenant, source, &sealed)?,
            body_bytes: codec::number(row, 3)?,
            is_cut: row.get(4)?,
        },
    })
}
