//! Webhooks: settings as JSON, secrets and header values encrypted, state in columns.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::notification::update_notification;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::{MAX_WEBHOOKS, Webhook};
use postrider_ports::Result;
use postrider_ports::configs::{Changed, Created, WebhookChange, WebhookList, Webhooks};
use postrider_store_format::{StoredWebhook, Vault};
use rusqlite::{Row, params};

use super::fault::Fault;
use super::health::health_columns;
use super::writer::Tx;
use super::{SqliteStore, codec, deleted, health, rows, tenants};

pub(super) const ALL: &str = concat!(
    "SELECT id, created_at, updated_at, settings, sealed, ",
    health_columns!(),
    " FROM webhook_configs WHERE tenant = ?1 ORDER BY id"
);

pub(super) const ONE: &str = concat!(
    "SELECT id, created_at, updated_at, settings, sealed, ",
    health_columns!(),
    " FROM webhook_configs WHERE tenant = ?1 AND id = ?2"
);

#[async_trait]
impl Webhooks for SqliteStore {
    async fn webhooks_version(&self, tenant: &TenantId) -> Result<u64> {
        let tenant = tenant.clone();
        self.readers
            .read(move |db| health::version(db, &tenant))
            .await
    }

    async fn webhooks(&self, tenant: &TenantId) -> Result<WebhookList> {
        let (tenant, vault) = (tenant.clone(), Arc::clone(&self.vault));
        self.readers
            .read(move |db| {
                let version = health::version(db, &tenant)?;
                let mut statement = db.prepare_cached(ALL)?;
                let webhooks = codec::all(&mut statement, &[&tenant.as_str()], |row| {
                    read(row, &tenant, &vault)
                })?;
                Ok(WebhookList {
                    version,
                    webhooks,
                    tenant: tenants::record(db, &tenant)?,
                })
            })
            .await
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>> {
        let (tenant, vault) = (tenant.clone(), Arc::clone(&self.vault));
        self.readers
            .read(move |db| {
                let mut statement = db.prepare_cached(ONE)?;
                codec::first(
                    &mut statement,
                    &[&tenant.as_str(), &id.to_string()],
                    |row| read(row, &tenant, &vault),
                )
            })
            .await
    }

    async fn failed_webhooks(&self) -> Result<u64> {
        self.readers
            .read(|db| {
                let mut statement =
                    db.prepare_cached("SELECT count(*) FROM webhook_configs WHERE status = ?1")?;
                let failed = WebhookStatus::Failed.as_str();
                Ok(statement
                    .query_row([failed], |row| row.get::<_, i64>(0))?
                    .unsigned_abs())
            })
            .await
    }

    async fn create_webhook(&self, webhook: Webhook) -> Result<Created> {
        let content = StoredWebhook::of(
            &self.vault,
            &webhook.tenant,
            webhook.id,
            &webhook.settings,
            &webhook.secrets,
        )?;
        self.writer
            .write(move |tx| tx.whole(|tx| create(tx, &webhook, &content)))
            .await
    }

    async fn change_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<Changed> {
        let content =
            StoredWebhook::of(&self.vault, tenant, id, &change.settings, &change.secrets)?;
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| alter(tx, &tenant, id, &change, &content)))
            .await
    }

    async fn set_webhook_status(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        status: WebhookStatus,
        now: Timestamp,
    ) -> Result<Option<Health>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| set_status(tx, &tenant, id, status, now)))
            .await
    }

    async fn delete_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        _now: Timestamp,
    ) -> Result<bool> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| delete(tx, &tenant, id)))
            .await
    }
}

fn create(
    tx: &Tx<'_, '_>,
    webhook: &Webhook,
    content: &StoredWebhook,
) -> std::result::Result<Created, Fault> {
    let mut statement = tx.statement("SELECT count(*) FROM webhook_configs WHERE tenant = ?1")?;
    let count: i64 = statement.query_row([webhook.tenant.as_str()], |row| row.get(0))?;
    let record = tenants::record(tx.db(), &webhook.tenant)?;
    let most = record.map_or(MAX_WEBHOOKS, |record| record.limits.max_webhooks());
    if count >= codec::limit(most) {
        return Ok(Created::TooMany);
    }
    let health = &webhook.health;
    tx.execute(
        "INSERT INTO webhook_configs (tenant, id, status, failure_count, generation, reason, changed_at, created_at, \
         updated_at, settings, sealed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            webhook.tenant.as_str(),
            webhook.id.to_string(),
            health.status.as_str(),
            health.failure_count,
            health.generation,
            health.reason.as_ref().map(codec::to_json).transpose()?,
            health.changed_at.map(Timestamp::as_millis),
            webhook.created_at.as_millis(),
            webhook.updated_at.as_millis(),
            content.settings,
            content.sealed,
        ],
    )?;
    health::raise_version(tx, &webhook.tenant)?;
    Ok(Created::Done)
}

fn alter(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    id: WebhookId,
    change: &WebhookChange,
    content: &StoredWebhook,
) -> std::result::Result<Changed, Fault> {
    let name = id.to_string();
    let changed = tx.execute(
        "UPDATE webhook_configs SET settings = ?4, sealed = ?5, updated_at = ?6 \
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
    let Some(state) = health::load(tx, tenant, id)? else {
        return Ok(Changed::Missing);
    };
    if changed == 0 {
        return Ok(Changed::Outdated);
    }
    health::raise_version(tx, tenant)?;
    let notification = update_notification(tenant, id, &state, change.updated_at);
    rows::notify(tx, &notification)?;
    Ok(Changed::Done)
}

fn set_status(
    tx: &mut Tx<'_, '_>,
    tenant: &TenantId,
    id: WebhookId,
    status: WebhookStatus,
    now: Timestamp,
) -> std::result::Result<Option<Health>, Fault> {
    let Some(before) = health::load(tx, tenant, id)? else {
        return Ok(None);
    };
    if before.status == status {
        return Ok(Some(Health::clone(&before)));
    }
    let after = before.set(status, now);
    health::change(tx, tenant, id, &before, &after, now)?;
    Ok(Some(after))
}

pub(super) fn delete(
    tx: &Tx<'_, '_>,
    tenant: &TenantId,
    id: WebhookId,
) -> std::result::Result<bool, Fault> {
    let key = params![tenant.as_str(), id.to_string()];
    let deleted = tx.execute(
        "DELETE FROM webhook_configs WHERE tenant = ?1 AND id = ?2",
        key,
    )? > 0;
    if deleted {
        deleted::note(tx, tenant, id)?;
        health::raise_version(tx, tenant)?;
    }
    Ok(deleted)
}

fn read(row: &Row<'_>, tenant: &TenantId, vault: &Vault) -> std::result::Result<Webhook, Fault> {
    let id: WebhookId = codec::text(row, 0)?;
    let stored = StoredWebhook {
        settings: row.get(3)?,
        sealed: row.get(4)?,
    };
    let (settings, secrets) = stored.open(vault, tenant, id)?;
    Ok(Webhook {
        id,
        tenant: tenant.clone(),
        settings,
        secrets,
        created_at: codec::instant(row, 1)?,
        updated_at: codec::instant(row, 2)?,
        health: health::read(row, 5)?,
    })
}
