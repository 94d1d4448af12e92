//! API keys, stored by digest.

use async_trait::async_trait;
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::key::{ApiKey, KeyDigest};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::configs::ApiKeys;
use rusqlite::{Row, params};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec};

pub(super) const BY_DIGEST: &str = "SELECT id, tenant, name, scopes, digest, created_at, last_used_at FROM api_keys WHERE digest = ?1";

const OF_TENANT: &str = "SELECT id, tenant, name, scopes, digest, created_at, last_used_at FROM api_keys \
     WHERE tenant = ?1 ORDER BY created_at, id";

#[async_trait]
impl ApiKeys for SqliteStore {
    async fn key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>> {
        self.readers
            .read(move |db| codec::first(&mut *db.prepare_cached(BY_DIGEST)?, &[&digest.0], read))
            .await
    }

    async fn keys(&self, tenant: &TenantId) -> Result<Vec<ApiKey>> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| {
                codec::all(
                    &mut *db.prepare_cached(OF_TENANT)?,
                    &[&tenant.as_str()],
                    read,
                )
            })
            .await
    }

    async fn put_key(&self, key: ApiKey) -> Result<()> {
        self.writer
            .write(move |tx| {
                tx.execute(
                    "INSERT OR REPLACE INTO api_keys (id, tenant, name, scopes, digest, created_at, last_used_at) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        key.id.to_string(),
                        key.tenant.as_str(),
                        key.name,
                        codec::to_json(&key.scopes)?,
                        key.digest.0,
                        key.created_at.as_millis(),
                        key.last_used_at.map(Timestamp::as_millis),
                    ],
                )?;
                note_tenant(tx, &key.tenant)
            })
            .await
    }

    async fn revoke_key(&self, tenant: &TenantId, id: KeyId) -> Result<bool> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                let key = params![tenant.as_str(), id.to_string()];
                let sql = "DELETE FROM api_keys WHERE tenant = ?1 AND id = ?2";
                let is_revoked = tx.execute(sql, key)? > 0;
                if is_revoked {
                    // An earlier release may have stored the key.
                    note_tenant(tx, &tenant)?;
                }
                Ok(is_revoked)
            })
            .await
    }

    async fn touch_key(&self, key: &ApiKey, at: Timestamp) -> Result<()> {
        let (tenant, id) = (key.tenant.clone(), key.id);
        self.writer
            .write(move |tx| {
                let used = params![tenant.as_str(), id.to_string(), at.as_millis()];
                tx.execute(
                    "UPDATE api_keys SET last_used_at = ?3 WHERE tenant = ?1 AND id = ?2",
                    used,
                )?;
                Ok(())
            })
            .await
    }
}

/// A tenant exists from its first key on, also when it is revoked.
fn note_tenant(tx: &Tx<'_, '_>, tenant: &TenantId) -> std::result::Result<(), Fault> {
    tx.execute(
        "INSERT INTO tenants (tenant, config_version) VALUES (?1, 0) ON CONFLICT (tenant) DO UPDATE SET is_deleted = 0",
        [tenant.as_str()],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> std::result::Result<ApiKey, Fault> {
    Ok(ApiKey {
        id: codec::text(row, 0)?,
        tenant: codec::text(row, 1)?,
        name: row.get(2)?,
        scopes: codec::json(row, 3)?,
        digest: KeyDigest(row.get(4)?),
        created_at: codec::instant(row, 5)?,
        last_used_at: codec::maybe_instant(row, 6)?,
    })
}
