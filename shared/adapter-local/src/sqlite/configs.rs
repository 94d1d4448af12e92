//! Webhooks: settings as JSON, secrets and header values sealed, state in columns.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::headers::CustomHeaders;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::notice::{Notice, NoticeKind};
use postrider_domain::pattern::Pattern;
use postrider_domain::retry::RetrySettings;
use postrider_domain::secret::{RetiringSecret, SecretRing, SigningSecret};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{MAX_WEBHOOKS, Webhook, WebhookSettings};
use postrider_ports::Result;
use postrider_ports::configs::{Changed, Created, WebhookChange, WebhookList, Webhooks};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use url::Url;
use zeroize::Zeroizing;

use super::fault::Fault;
use super::vault::Vault;
use super::writer::Tx;
use super::{SqliteStore, codec, health, rows};

pub(super) const ALL: &str = "SELECT status, failure_count, generation, reason, changed_at, id, created_at, \
     updated_at, settings, sealed FROM webhook_configs WHERE tenant = ?1 ORDER BY id";

pub(super) const ONE: &str = "SELECT status, failure_count, generation, reason, changed_at, id, created_at, \
     updated_at, settings, sealed FROM webhook_configs WHERE tenant = ?1 AND id = ?2";

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
                Ok(WebhookList { version, webhooks })
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

    async fn create_webhook(&self, webhook: Webhook) -> Result<Created> {
        let content = Content::of(
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
        let content = Content::of(&self.vault, tenant, id, &change.settings, &change.secrets)?;
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
        reason: Option<String>,
        now: Timestamp,
    ) -> Result<Option<Health>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| {
                tx.whole(|tx| set_status(tx, &tenant, id, status, reason.as_deref(), now))
            })
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
    tx: &Tx<'_>,
    webhook: &Webhook,
    content: &Content,
) -> std::result::Result<Created, Fault> {
    let mut statement = tx.statement("SELECT count(*) FROM webhook_configs WHERE tenant = ?1")?;
    let count: i64 = statement.query_row([webhook.tenant.as_str()], |row| row.get(0))?;
    if count >= codec::limit(MAX_WEBHOOKS) {
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
            health.reason,
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
    tx: &Tx<'_>,
    tenant: &TenantId,
    id: WebhookId,
    change: &WebhookChange,
    content: &Content,
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
    if changed == 0 {
        let known = health::load(tx, tenant, id)?.is_some();
        return Ok(if known {
            Changed::Outdated
        } else {
            Changed::Missing
        });
    }
    health::raise_version(tx, tenant)?;
    Ok(Changed::Done)
}

fn set_status(
    tx: &mut Tx<'_>,
    tenant: &TenantId,
    id: WebhookId,
    status: WebhookStatus,
    reason: Option<&str>,
    now: Timestamp,
) -> std::result::Result<Option<Health>, Fault> {
    let Some(before) = health::load(tx, tenant, id)? else {
        return Ok(None);
    };
    if before.status == status {
        return Ok(Some(before));
    }
    let after = before.set(status, reason.map(str::to_owned), now);
    health::save(tx, tenant, id, &before, &after)?;
    let kind = match status {
        WebhookStatus::Active => Some(NoticeKind::WebhookResumed),
        WebhookStatus::Failed => Some(NoticeKind::WebhookFailed),
        WebhookStatus::Disabled => Some(NoticeKind::WebhookDisabled),
        WebhookStatus::Paused => None,
    };
    if let Some(kind) = kind {
        rows::announce(tx, &Notice::of_webhook(kind, tenant, id, &after, now))?;
    }
    Ok(Some(after))
}

fn delete(tx: &Tx<'_>, tenant: &TenantId, id: WebhookId) -> std::result::Result<bool, Fault> {
    let key = params![tenant.as_str(), id.to_string()];
    let deleted = tx.execute(
        "DELETE FROM webhook_configs WHERE tenant = ?1 AND id = ?2",
        key,
    )? > 0;
    if deleted {
        tx.execute(
            "DELETE FROM pace WHERE tenant = ?1 AND webhook_id = ?2",
            key,
        )?;
        health::raise_version(tx, tenant)?;
    }
    Ok(deleted)
}

/// What an owner said, as two columns.
struct Content {
    settings: String,
    sealed: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct StoredSettings {
    name: String,
    target_url: Url,
    event_types: Vec<Pattern>,
    owner_email: Option<String>,
    timeout_ms: Millis,
    retry_rate: u32,
    auto_resume: bool,
    retry: RetrySettings,
}

/// Lives only between the vault and the domain's own types, which cannot be written out by accident.
#[derive(Serialize, Deserialize)]
struct Hidden {
    secret: Zeroizing<String>,
    retiring: Vec<(Zeroizing<String>, Timestamp)>,
    headers: Vec<(String, Zeroizing<String>)>,
}

impl Content {
    fn of(
        vault: &Vault,
        tenant: &TenantId,
        id: WebhookId,
        settings: &WebhookSettings,
        secrets: &SecretRing,
    ) -> std::result::Result<Self, Fault> {
        let hide = |secret: &SigningSecret| Zeroizing::new(secret.expose().to_owned());
        let hidden = Hidden {
            secret: hide(&secrets.current),
            retiring: secrets
                .retiring
                .iter()
                .map(|old| (hide(&old.secret), old.expires_at))
                .collect(),
            headers: settings
                .headers
                .iter()
                .map(|(name, value)| {
                    let value = value
                        .to_str()
                        .map_err(|_| Fault::Unreadable(format!("the value of header {name}")))?;
                    Ok((name.as_str().to_owned(), Zeroizing::new(value.to_owned())))
                })
                .collect::<std::result::Result<_, Fault>>()?,
        };
        let stored = StoredSettings {
            name: settings.name.clone(),
            target_url: settings.target_url.clone(),
            event_types: settings.event_types.clone(),
            owner_email: settings.owner_email.clone(),
            timeout_ms: settings.timeout,
            retry_rate: settings.retry_rate,
            auto_resume: settings.auto_resume,
            retry: settings.retry.clone(),
        };
        let plain = Zeroizing::new(codec::to_json(&hidden)?);
        let sealed = vault.seal(item(tenant, id).as_bytes(), plain.as_bytes())?;
        Ok(Self {
            settings: codec::to_json(&stored)?,
            sealed,
        })
    }
}

/// What a sealed value is bound to: moved to another webhook it does not open.
fn item(tenant: &TenantId, id: WebhookId) -> String {
    format!("{tenant}/{id}")
}

fn read(row: &Row<'_>, tenant: &TenantId, vault: &Vault) -> std::result::Result<Webhook, Fault> {
    let id: WebhookId = codec::text(row, 5)?;
    let stored: StoredSettings = codec::json(row, 8)?;
    let sealed: Vec<u8> = row.get(9)?;
    let plain = vault.unseal(item(tenant, id).as_bytes(), &sealed)?;
    let hidden: Hidden = serde_json::from_slice(&plain).map_err(|_| codec::unreadable(row, 9))?;
    let unhide = |text: &str| SigningSecret::parse(text).map_err(|_| codec::unreadable(row, 9));
    let headers = hidden
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    let retiring = hidden.retiring.iter().map(|(secret, expires_at)| {
        Ok(RetiringSecret {
            secret: unhide(secret)?,
            expires_at: *expires_at,
        })
    });
    Ok(Webhook {
        id,
        tenant: tenant.clone(),
        settings: WebhookSettings {
            name: stored.name,
            target_url: stored.target_url,
            event_types: stored.event_types,
            owner_email: stored.owner_email,
            headers: CustomHeaders::parse(headers).map_err(|_| codec::unreadable(row, 9))?,
            timeout: stored.timeout_ms,
            retry_rate: stored.retry_rate,
            auto_resume: stored.auto_resume,
            retry: stored.retry,
        },
        secrets: SecretRing {
            current: unhide(&hidden.secret)?,
            retiring: retiring.collect::<std::result::Result<_, Fault>>()?,
        },
        created_at: codec::instant(row, 6)?,
        updated_at: codec::instant(row, 7)?,
        health: health::read(row, 0)?,
    })
}
