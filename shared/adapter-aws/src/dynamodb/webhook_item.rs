//! A webhook's settings as one item; its state is another item, in the table of its rows.

use async_trait::async_trait;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Result;
use postrider_ports::mail::{Contact, Contacts};
use postrider_store_format::{Outline, StoredWebhook, Vault};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::Table;
use super::item::{Item, from_item, to_item};
use super::keys::{Key, SK};
use crate::fault::unreadable;

/// The attribute of the encrypted part.
pub(super) const SEALED: &str = "sealed";

#[derive(Serialize, Deserialize)]
struct Open {
    settings: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

pub(super) fn item(webhook: &Webhook, stored: StoredWebhook) -> Result<Item> {
    let mut item = to_item(&Open {
        settings: stored.settings,
        created_at: webhook.created_at,
        updated_at: webhook.updated_at,
    })?;
    item.extend(Key::webhook(&webhook.tenant, webhook.id).item());
    item.insert(SEALED.to_owned(), sealed(stored.sealed));
    Ok(item)
}

pub(super) fn sealed(bytes: Vec<u8>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

pub(super) fn id(item: &Item) -> Result<WebhookId> {
    let sk = item.get(SK).and_then(|value| value.as_s().ok());
    let id = sk.and_then(|text| text.parse().ok());
    id.ok_or_else(|| unreadable("the key of a webhook"))
}

pub(super) fn webhook(
    mut item: Item,
    tenant: &TenantId,
    health: Health,
    vault: &Vault,
) -> Result<Webhook> {
    let id = id(&item)?;
    let sealed = match item.remove(SEALED) {
        Some(AttributeValue::B(bytes)) => bytes.into_inner(),
        Some(_) | None => return Err(unreadable("the secrets of a webhook")),
    };
    let open: Open = from_item(item, "the settings of a webhook")?;
    let stored = StoredWebhook {
        settings: open.settings,
        sealed,
    };
    let (settings, secrets) = stored.open(vault, tenant, id)?;
    Ok(Webhook {
        id,
        tenant: tenant.clone(),
        settings,
        secrets,
        created_at: open.created_at,
        updated_at: open.updated_at,
        health,
    })
}

/// The unencrypted part of a webhook's item.
pub(super) fn outline(item: Item) -> Result<Outline> {
    let open: Open = from_item(item, "the settings of a webhook")?;
    StoredWebhook::outline(&open.settings)
}

#[async_trait]
impl Contacts for DynamoStore {
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>> {
        let key = Key::webhook(tenant, webhook);
        let Some(item) = self.get(Table::Configs, &key).await? else {
            return Ok(None);
        };
        let open: Open = from_item(item, "the settings of a webhook")?;
        StoredWebhook::contact(&open.settings).map(Some)
    }
}
