//! Sources: settings as JSON, secrets encrypted.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::source::{MAX_SOURCES, Source};
use postrider_ports::Result;
use postrider_ports::configs::{Changed, Created};
use postrider_ports::sources::{SourceChange, Sources};
use postrider_store_format::{StoredSource, Vault};
use rusqlite::{Row, params};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec, rejected};

pub(super) const ALL: &str = "SELECT tenant, id, created_at, updated_at, settings, sealed FROM sources \
     WHERE tenant = ?1 ORDER BY id";

pub(super) const ONE: &str = "SELECT tenant, id, created_at, updated_at, settings, sealed FROM sources \
     WHERE tenant = ?1 AND id = ?2";

pub(super) const BY_ID: &str =
    "SELECT tenant, id, created_at, updated_at, settings, sealed FROM sources WHERE id = ?1";

#[async_trait]
impl Sources for SqliteStore {
    async fn sources(&self, tenant: &TenantId) -> Result<Vec<Source>> {
        let (tenant, vault) = (tenant.clone(), Arc::clone(&self.vault));
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(ALL)?;
                codec::all(&mut statement, &[&tenant.as_str()], |row| read(row, &vault))
            })
            .await
    }

    async fn source(&self, tenant: &TenantId, id: SourceId) -> Result<Option<Source>> {
        let (tenant, vault) = (tenant.clone(), Arc::clone(&self.vault));
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(ONE)?;
                codec::first(
                    &mut statement,
                    &[&tenant.as_str(), &id.to_string()],
                    |row| read(row, &vault),
                )
            })
            .await
    }

    async fn source_by_id(&self, id: SourceId) -> Result<Option<Source>> {
        let vault = Arc::clone(&self.vault);
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(BY_ID)?;
                codec::first(&mut statement, &[&id.to_string()], |row| read(row, &vault))
            })
            .await
    }

    async fn create_source(&self, source: Source) -> Result<Created> {
        let content = StoredSource::of(
            &self.vault,
            &source.tenant,
            source.id,
            &source.settings,
            &source.secrets,
        )?;
        self.writer
            .write(move |tx| tx.whole(|tx| create(tx, &source, &content)))
            .await
    }

    async fn change_source(
        &self,
        tenant: &TenantId,
        id: SourceId,
        change: SourceChange,
    ) -> Result<Changed> {
        let content = StoredSource::of(&self.vault, tenant, id, &change.settings, &change.secrets)?;
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| alter(tx, &tenant, id, &change, &content)))
            .await
    }

    async fn delete_source(&self, tenant: &TenantId, id: SourceId) -> Result<bool> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.whole(|tx| {
                    let key = params![tenant.as_str(), id.to_string()];
                    rejected::forget_source(tx, &tenant, id)?;
                    Ok(tx.execute("DELETE FROM sources WHERE tenant = ?1 AND id = ?2", key)? > 0)
                })
            })
            .await
    }
}

fn create(
    tx: &Tx<'_, '_>,
    source: &Source,
    content: &StoredSource,
) -> std::result::Result<Created, Fault> {
    let mut statement = tx.statement("SELECT count(*) FROM sources WHERE tenant = ?1")?;
    let count: i64 = statement.query_row([source.tenant.as_str()], |row| row.get(0))?;
    if count >= codec::limit(MAX_SOURCES) {
        return Ok(Created::TooMany);
    }
    tx.execute(
        "INSERT INTO sources (tenant, id, created_at, updated_at, settings, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            source.tenant.as_str(),
            source.id.to_string(),
            source.created_at.as_millis(),
            source.updated_at.as_millis(),
            content.settings,
            content.sealed,
        ],
    )?;
    Ok(Created::Done)
}

fn alter(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    id: SourceId,
    change: &SourceChange,
    content: &StoredSource,
) -> std::result::Result<Changed, Fault> {
    let name = id.to_string();
    let changed = tx.execute(
        "UPDATE sources SET settings = ?4, sealed = ?5, updated_at = ?6 \
         WHERE tenant = ?1 AND id = ?2 AND updated_at = ?3",
        params![
            tenant.as_str(),
            name,
            change.seen.as_millis(),
            content.settings,
            content.sealed,
            change.updated_at.as_millis(),
        ],
    )?;
    if changed > 0 {
        return Ok(Changed::Done);
    }
    let mut statement = tx.statement(ONE)?;
    let existing = codec::first(&mut statement, &[&tenant.as_str(), &name], |_| Ok(()))?;
    Ok(match existing {
        Some(()) => Changed::Outdated,
        None => Changed::Missing,
    })
}

fn read(row: &Row<'_>, vault: &Vault) -> std::result::Result<Source, Fault> {
    let (tenant, id) = (codec::text(row, 0)?, codec::text(row, 1)?);
    let stored = StoredSource {
        settings: row.get(4)?,
        sealed: row.get(5)?,
    };
    let (settings, secrets) = stored.open(vault, &tenant, id)?;
    Ok(Source {
        id,
        tenant,
        settings,
        secrets,
        created_at: codec::instant(row, 2)?,
        updated_at: codec::instant(row, 3)?,
    })
}
