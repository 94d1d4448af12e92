//! The catalogue of event types.

use async_trait::async_trait;
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::ids::TenantId;
use postrider_domain::pattern::EventType;
use postrider_ports::Result;
use postrider_ports::catalogue::Catalogue;
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::{SqliteStore, codec, health};

pub(super) const OF_TENANT: &str = "SELECT entry FROM event_types WHERE tenant = ?1 ORDER BY name";
pub(super) const ONE: &str = "SELECT entry FROM event_types WHERE tenant = ?1 AND name = ?2";

#[async_trait]
impl Catalogue for SqliteStore {
    async fn event_types(&self, tenant: &TenantId) -> Result<Vec<CatalogueEntry>> {
        let tenant = tenant.clone();
        self.readers.read(move |db| of_tenant(db, &tenant)).await
    }

    async fn event_type(
        &self,
        tenant: &TenantId,
        name: &EventType,
    ) -> Result<Option<CatalogueEntry>> {
        let (tenant, name) = (tenant.clone(), name.clone());
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(ONE)?;
                let key: [&dyn rusqlite::ToSql; 2] = [&tenant.as_str(), &name.as_str()];
                codec::first(&mut statement, &key, |row| codec::json(row, 0))
            })
            .await
    }

    async fn put_event_type(&self, tenant: &TenantId, entry: CatalogueEntry) -> Result<()> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.execute(
                    "INSERT OR REPLACE INTO event_types (tenant, name, entry) VALUES (?1, ?2, ?3)",
                    params![
                        tenant.as_str(),
                        entry.name.as_str(),
                        codec::to_json(&entry)?
                    ],
                )?;
                health::raise_version(tx, &tenant)
            })
            .await
    }

    async fn delete_event_type(&self, tenant: &TenantId, name: &EventType) -> Result<bool> {
        let (tenant, name) = (tenant.clone(), name.clone());
        self.writer
            .write(move |tx| {
                let key = params![tenant.as_str(), name.as_str()];
                let sql = "DELETE FROM event_types WHERE tenant = ?1 AND name = ?2";
                let is_deleted = tx.execute(sql, key)? > 0;
                if is_deleted {
                    health::raise_version(tx, &tenant)?;
                }
                Ok(is_deleted)
            })
            .await
    }
}

/// All entries of a tenant, by name.
pub(super) fn of_tenant(
    db: &Connection,
    tenant: &TenantId,
) -> std::result::Result<Vec<CatalogueEntry>, Fault> {
    let mut statement = db.prepare_cached(OF_TENANT)?;
    codec::all(&mut statement, &[&tenant.as_str()], |row| {
        codec::json(row, 0)
    })
}
