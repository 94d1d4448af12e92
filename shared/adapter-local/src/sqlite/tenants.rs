//! Records of tenants, as JSON.

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::tenant::{Tenant, TenantRetention};
use postrider_domain::time::Timestamp;
use postrider_ports::configs::Changed;
use postrider_ports::tenants::Tenants;
use postrider_ports::{Error, Result};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec, health};

pub(super) const RECORD: &str = "SELECT record FROM tenant_records WHERE tenant = ?1";

/// The tenants after `?1`, merged from indexes in order, so that no more are read than are listed. The default tenant exists
/// even before anything is stored.
pub(super) const PAGE: &str = "SELECT tenant FROM tenants WHERE tenant > ?1 AND is_deleted = 0 \
     UNION SELECT tenant FROM api_keys WHERE tenant > ?1 UNION SELECT tenant FROM tenant_records WHERE tenant > ?1 \
     UNION SELECT 'default' WHERE 'default' > ?1 ORDER BY tenant LIMIT ?2";

const RECORDS: &str =
    "SELECT record FROM tenant_records WHERE tenant > ?1 ORDER BY tenant LIMIT ?2";

pub(super) const IS_KNOWN: &str = "SELECT 1 WHERE EXISTS (SELECT 1 FROM tenants WHERE tenant = ?1 AND is_deleted = 0) \
     OR EXISTS (SELECT 1 FROM api_keys WHERE tenant = ?1)";

#[async_trait]
impl Tenants for SqliteStore {
    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>> {
        let id = id.clone();
        self.readers
            .read(move |db| {
                if let Some(record) = record(db, &id)? {
                    return Ok(Some(record));
                }
                let is_known = id.as_str() == TenantId::DEFAULT
                    || db.prepare_cached(IS_KNOWN)?.exists([id.as_str()])?;
                Ok(is_known.then(|| Tenant::unrecorded(id.clone())))
            })
            .await
    }

    async fn tenant_page(&self, limit: usize, after: Option<&TenantId>) -> Result<Vec<Tenant>> {
        let after = after.map_or_else(String::new, ToString::to_string);
        self.readers.read(move |db| page(db, limit, &after)).await
    }

    async fn put_tenant(&self, tenant: Tenant, seen: Option<Timestamp>) -> Result<Changed> {
        self.writer
            .write(move |tx| tx.whole(|tx| put(tx, &tenant, seen)))
            .await
    }
}

/// The tenants after this one, with their records if they have any.
pub(super) fn page(
    db: &Connection,
    limit: usize,
    after: &str,
) -> std::result::Result<Vec<Tenant>, Fault> {
    let mut statement = db.prepare_cached(PAGE)?;
    let ids: Vec<TenantId> = codec::all(&mut statement, &[&after, &codec::limit(limit)], |row| {
        codec::text(row, 0)
    })?;
    let tenant = |id: TenantId| {
        let record = record(db, &id)?;
        Ok(record.unwrap_or_else(|| Tenant::unrecorded(id)))
    };
    ids.into_iter().map(tenant).collect()
}

/// The tenant's record, if it has one.
pub(super) fn record(db: &Connection, id: &TenantId) -> std::result::Result<Option<Tenant>, Fault> {
    let mut statement = db.prepare_cached(RECORD)?;
    codec::first(&mut statement, &[&id.as_str()], |row| codec::json(row, 0))
}

/// The records after this tenant, up to `limit`: of each tenant its own retention, if it has one.
pub(super) fn own_retentions(
    db: &Connection,
    after: Option<&TenantId>,
    limit: usize,
) -> std::result::Result<Vec<(TenantId, Option<TenantRetention>)>, Fault> {
    let mut statement = db.prepare_cached(RECORDS)?;
    let after = after.map_or("", TenantId::as_str);
    let found = codec::all(&mut statement, &[&after, &codec::limit(limit)], |row| {
        codec::json::<Tenant>(row, 0)
    })?;
    let own = found.into_iter();
    Ok(own.map(|tenant| (tenant.id, tenant.retention)).collect())
}

fn put(
    tx: &Tx<'_, '_>,
    tenant: &Tenant,
    seen: Option<Timestamp>,
) -> std::result::Result<Changed, Fault> {
    let Some(updated_at) = tenant.updated_at() else {
        let why = "a tenant without a record cannot be stored";
        return Err(Fault::Port(Error::Broken(why.to_owned())));
    };
    let stored = record(tx.db(), &tenant.id)?;
    if stored.and_then(|stored| stored.updated_at()) != seen {
        return Ok(Changed::Outdated);
    }
    tx.execute(
        "INSERT OR REPLACE INTO tenant_records (tenant, updated_at, record) VALUES (?1, ?2, ?3)",
        params![
            tenant.id.as_str(),
            updated_at.as_millis(),
            codec::to_json(tenant)?
        ],
    )?;
    health::raise_version(tx, &tenant.id)?;
    Ok(Changed::Done)
}
