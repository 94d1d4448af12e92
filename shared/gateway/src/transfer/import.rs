//! Imports what another gateway exported. What is already there and the same is left alone; what is there and differs is a
//! conflict, and is replaced only if the caller asks for it.

use postrider_domain::delivery::{Delivery, MESSAGE_REACH};
use postrider_domain::event_catalogue::{CatalogueDraft, MAX_EVENT_TYPES};
use postrider_domain::ids::{DeliveryId, TenantId};
use postrider_domain::invalid::Invalid;
use postrider_domain::key::ApiKey;
use postrider_domain::pattern::EventType;
use postrider_domain::secret::{Rotating, SecretRing};
use postrider_domain::source::{MAX_SOURCES, Source};
use postrider_domain::tenant::{Tenant, TenantDraft};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::transfer::{SourceCopy, WebhookCopy};
use postrider_domain::webhook::{MAX_NAME_CHARS, Webhook, is_name};
use postrider_ports::configs::{Changed, Created, WebhookChange};
use postrider_ports::queue::QueueMessage;
use postrider_ports::sources::SourceChange;
use postrider_ports::transfers::{Adopted, MovedEvent};

use super::Transfer;
use crate::error::{Conflict, GatewayError};
use crate::keyring::MAX_KEYS;

/// What to do with something that is there and differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    Keep,
    Replace,
}

/// What an import did with one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    Created,
    /// It was there, and the same.
    Unchanged,
    Replaced,
    /// It is there and differs; nothing was changed.
    Conflict(Clash),
}

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    #[error("exists with other settings, headers or secrets")]
    Webhook,
    #[error("exists with other settings, routes or secrets")]
    Source,
    #[error("another tenant has a source with this id")]
    SourceOfAnotherTenant,
    #[error("exists with another name, scopes or tenant")]
    Key,
    #[error("exists with another name or limits")]
    Tenant,
    #[error("exists with another description, group, schema, examples or state")]
    EventType,
    #[error("a different request created an event with this id")]
    Event,
    #[error("was changed by another request at the same time; import it again")]
    ChangedMeanwhile,
}

/// In each of these, a tenant that is being deleted is [`Conflict::TenantDeleted`]: what it would get now could outlive it.
impl Transfer {
    pub async fn import_webhook(
        &self,
        copy: WebhookCopy,
        on_conflict: OnConflict,
    ) -> Result<ImportOutcome, GatewayError> {
        self.require_open(&copy.tenant).await?;
        let now = self.ports.clock.now();
        let health = copy.health(now);
        let settings = copy.draft.check_for(&self.egress, self.fastest_max_rate)?;
        let store = &self.ports.store;
        let Some(stored) = store.webhook(&copy.tenant, copy.id).await? else {
            let webhook = Webhook {
                id: copy.id,
                tenant: copy.tenant.clone(),
                settings,
                secrets: copy.secrets,
                created_at: copy.created_at,
                updated_at: now,
                health,
            };
            let created = store.create_webhook(webhook).await?;
            self.webhook_cache.forget(&copy.tenant);
            return match created {
                Created::Done => Ok(ImportOutcome::Created),
                Created::TooMany => {
                    let known = self.webhook_cache.current(&copy.tenant, now).await?;
                    Err(known.too_many_webhooks())
                }
            };
        };
        if stored.settings == settings && are_same(&stored.secrets, &copy.secrets, now) {
            return Ok(ImportOutcome::Unchanged);
        }
        if on_conflict == OnConflict::Keep {
            return Ok(ImportOutcome::Conflict(Clash::Webhook));
        }
        let change = WebhookChange {
            seen: stored.updated_at,
            settings,
            secrets: copy.secrets,
            updated_at: later(now, stored.updated_at),
        };
        let changed = store.change_webhook(&copy.tenant, copy.id, change).await?;
        self.webhook_cache.forget(&copy.tenant);
        Ok(replaced(changed))
    }

    pub async fn import_source(
        &self,
        copy: SourceCopy,
        on_conflict: OnConflict,
    ) -> Result<ImportOutcome, GatewayError> {
        self.require_open(&copy.tenant).await?;
        let now = self.ports.clock.now();
        let webhooks = self.webhook_cache.current(&copy.tenant, now).await?;
        let settings = copy.draft.check(|id| webhooks.get(id).is_some())?;
        settings.check_secret(&copy.secrets.current)?;
        let store = &self.ports.store;
        let Some(stored) = store.source_by_id(copy.id).await? else {
            let source = Source {
                id: copy.id,
                tenant: copy.tenant,
                settings,
                secrets: copy.secrets,
                created_at: copy.created_at,
                updated_at: now,
            };
            let created = store.create_source(source).await?;
            return match created {
                Created::Done => Ok(ImportOutcome::Created),
                Created::TooMany => Err(GatewayError::TooMany {
                    limit: MAX_SOURCES,
                    what: "sources",
                }),
            };
        };
        // The id is all that identifies a sender, so it cannot belong to two tenants.
        if stored.tenant != copy.tenant {
            return Ok(ImportOutcome::Conflict(Clash::SourceOfAnotherTenant));
        }
        if stored.settings == settings && are_same(&stored.secrets, &copy.secrets, now) {
            return Ok(ImportOutcome::Unchanged);
        }
        if on_conflict == OnConflict::Keep {
            return Ok(ImportOutcome::Conflict(Clash::Source));
        }
        let change = SourceChange {
            seen: stored.updated_at,
            settings,
            secrets: copy.secrets,
            updated_at: later(now, stored.updated_at),
        };
        let changed = store.change_source(&copy.tenant, copy.id, change).await?;
        Ok(replaced(changed))
    }

    pub async fn import_key(
        &self,
        key: ApiKey,
        on_conflict: OnConflict,
    ) -> Result<ImportOutcome, GatewayError> {
        check_key(&key)?;
        self.require_open(&key.tenant).await?;
        let store = &self.ports.store;
        let Some(stored) = store.key_by_digest(key.digest).await? else {
            let keys = store.keys(&key.tenant).await?;
            if keys.iter().any(|other| other.id == key.id) {
                return Ok(ImportOutcome::Conflict(Clash::Key));
            }
            if keys.len() >= MAX_KEYS {
                let (limit, what) = (MAX_KEYS, "keys");
                return Err(GatewayError::TooMany { limit, what });
            }
            store.put_key(key).await?;
            return Ok(ImportOutcome::Created);
        };
        let of = |key: &ApiKey| (key.tenant.clone(), key.name.clone(), key.scopes.clone());
        if of(&stored) == of(&key) {
            return Ok(ImportOutcome::Unchanged);
        }
        if on_conflict == OnConflict::Keep {
            return Ok(ImportOutcome::Conflict(Clash::Key));
        }
        store.put_key(key).await?;
        Ok(ImportOutcome::Replaced)
    }

    /// Stores the record of a tenant. A shorter retention applies to what is published here from now on.
    pub async fn import_tenant(
        &self,
        id: &TenantId,
        draft: &TenantDraft,
        on_conflict: OnConflict,
    ) -> Result<ImportOutcome, GatewayError> {
        let now = self.ports.clock.now();
        let store = &self.ports.store;
        let stored = store.tenant(id).await?;
        require_open(stored.as_ref())?;
        let recorded = stored.filter(|stored| stored.recorded.is_some());
        let before = recorded
            .clone()
            .unwrap_or_else(|| Tenant::unrecorded(id.clone()));
        let after = before.changed(draft, now)?;
        if recorded.is_some() && before.draft() == after.draft() {
            return Ok(ImportOutcome::Unchanged);
        }
        if recorded.is_some() && on_conflict == OnConflict::Keep {
            return Ok(ImportOutcome::Conflict(Clash::Tenant));
        }
        let changed = store.put_tenant(after, before.updated_at()).await?;
        self.webhook_cache.forget(id);
        Ok(match (recorded, replaced(changed)) {
            (None, ImportOutcome::Replaced) => ImportOutcome::Created,
            (_, outcome) => outcome,
        })
    }

    /// Stores an entry of the tenant's event catalogue.
    pub async fn import_event_type(
        &self,
        tenant: &TenantId,
        name: EventType,
        draft: CatalogueDraft,
        on_conflict: OnConflict,
    ) -> Result<ImportOutcome, GatewayError> {
        let store = &self.ports.store;
        let entry = draft.check(name, self.ports.clock.now())?;
        self.require_open(tenant).await?;
        let known = store.event_types(tenant).await?;
        let stored = known.iter().find(|one| one.name == entry.name);
        let outcome = match stored {
            None if known.len() >= MAX_EVENT_TYPES => {
                let (limit, what) = (MAX_EVENT_TYPES, "event types");
                return Err(GatewayError::TooMany { limit, what });
            }
            None => ImportOutcome::Created,
            Some(stored) if stored.says_the_same_as(&entry) => return Ok(ImportOutcome::Unchanged),
            Some(_) if on_conflict == OnConflict::Keep => {
                return Ok(ImportOutcome::Conflict(Clash::EventType));
            }
            Some(_) => ImportOutcome::Replaced,
        };
        store.put_event_type(tenant, entry).await?;
        self.webhook_cache.forget(tenant);
        Ok(outcome)
    }

    /// Stores an event with its deliveries. Open ones are sent when they are due.
    pub async fn import_event(&self, mut moved: MovedEvent) -> Result<ImportOutcome, GatewayError> {
        self.require_open(&moved.event.tenant).await?;
        let now = self.ports.clock.now();
        self.check_event(&moved, now).await?;
        for delivery in &mut moved.deliveries {
            delivery.row = arrived(&delivery.row);
        }
        let rows: Vec<Delivery> = moved.deliveries.iter().map(|one| one.row.clone()).collect();
        match self.ports.store.adopt_event(moved, now).await? {
            Adopted::Conflict => Ok(ImportOutcome::Conflict(Clash::Event)),
            Adopted::Done { new } if new.is_empty() && !rows.is_empty() => {
                Ok(ImportOutcome::Unchanged)
            }
            Adopted::Done { new } => {
                self.queue.send(messages(&rows, &new, now)).await;
                Ok(ImportOutcome::Created)
            }
        }
    }

    async fn require_open(&self, tenant: &TenantId) -> Result<(), GatewayError> {
        let stored = self.ports.store.tenant(tenant).await?;
        require_open(stored.as_ref())
    }

    async fn check_event(&self, moved: &MovedEvent, now: Timestamp) -> Result<(), GatewayError> {
        let mut faults = Invalid::default();
        let limit = self.max_body_bytes;
        faults.require(moved.event.body.len() <= limit, "payload_base64", || {
            format!("must be at most {limit} bytes, the limit of this gateway")
        });
        let tenant = &moved.event.tenant;
        let webhooks = self.webhook_cache.current(tenant, now).await?;
        for (n, delivery) in moved.deliveries.iter().enumerate() {
            let (row, field) = (&delivery.row, format!("deliveries[{n}].webhook_id"));
            let exists = webhooks.get(row.id.webhook).is_some();
            faults.require(!row.status.is_open() || exists, &field, || {
                "does not exist; import the webhooks first".to_owned()
            });
        }
        faults.into_result()?;
        Ok(())
    }
}

fn require_open(tenant: Option<&Tenant>) -> Result<(), GatewayError> {
    match tenant.and_then(|tenant| tenant.deletion.as_ref()) {
        Some(_) => Err(Conflict::TenantDeleted.into()),
        None => Ok(()),
    }
}

/// A row as it arrives: free, and in no generation of the webhook's new state.
fn arrived(row: &Delivery) -> Delivery {
    Delivery {
        generation: 0,
        in_backlog: false,
        lease_owner: None,
        lease_until: Timestamp::ZERO,
        ..row.clone()
    }
}

/// The messages for new open rows; the poller sends those of rows that are due later.
fn messages(rows: &[Delivery], new: &[DeliveryId], now: Timestamp) -> Vec<QueueMessage> {
    let reach = now.plus(MESSAGE_REACH);
    let is_due = |row: &&Delivery| {
        let due_at = row.next_retry_at.unwrap_or(row.created_at);
        row.status.is_open() && new.contains(&row.id) && due_at <= reach
    };
    rows.iter().filter(is_due).map(QueueMessage::of).collect()
}

/// Whether two rings sign and verify the same from now on.
fn are_same<S: Rotating + PartialEq>(
    one: &SecretRing<S>,
    other: &SecretRing<S>,
    now: Timestamp,
) -> bool {
    one.live(now).eq(other.live(now))
}

fn check_key(key: &ApiKey) -> Result<(), Invalid> {
    let mut faults = Invalid::default();
    faults.require(is_name(&key.name), "name", || {
        format!("must be 1 to {MAX_NAME_CHARS} characters")
    });
    faults.require(!key.scopes.is_empty(), "scopes", || {
        "must name at least one of publish, read, manage".to_owned()
    });
    faults.into_result()
}

fn later(now: Timestamp, seen: Timestamp) -> Timestamp {
    now.max(seen.plus(Millis::new(1)))
}

const fn replaced(changed: Changed) -> ImportOutcome {
    match changed {
        Changed::Done => ImportOutcome::Replaced,
        Changed::Outdated | Changed::Missing => ImportOutcome::Conflict(Clash::ChangedMeanwhile),
    }
}
