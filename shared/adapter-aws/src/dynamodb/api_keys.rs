//! API keys: one item in the tenant's partition, and one, found by the digest, that points to it.

use async_trait::async_trait;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::configs::ApiKeys;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Query, Step, Table, Transacted};
use super::item::{Item, from_item, ms, s, to_item};
use super::keys::{API_KEY_PREFIX, Key};
use crate::fault::{self, unreadable};

const DIGEST: &str = "digest";
/// How many times a put is retried because another writer was faster.
const ROUNDS: u32 = 5;

#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(rename = "sk")]
    id: KeyId,
    name: String,
    scopes: Vec<Scope>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
}

/// Points from a digest to its key.
#[derive(Serialize, Deserialize)]
struct Pointer {
    tenant: String,
    key_id: KeyId,
}

#[async_trait]
impl ApiKeys for DynamoStore {
    async fn key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>> {
        let Some((tenant, id)) = self.holder(digest).await? else {
            return Ok(None);
        };
        let found = self.get(Table::Configs, &Key::api_key(&tenant, id)).await?;
        let key = found.map(|item| read(item, &tenant)).transpose()?;
        Ok(key.filter(|key| key.digest == digest))
    }

    async fn keys(&self, tenant: &TenantId) -> Result<Vec<ApiKey>> {
        let query = Query::prefix(Table::Configs, tenant.as_str(), API_KEY_PREFIX);
        let items = self.query_all(query).await?.into_iter();
        let mut keys = items
            .map(|item| read(item, tenant))
            .collect::<Result<Vec<_>>>()?;
        keys.sort_by_key(|key| (key.created_at, key.id));
        Ok(keys)
    }

    async fn put_key(&self, key: ApiKey) -> Result<()> {
        let pointer = pointer(&key)?;
        for _ in 0..ROUNDS {
            let before = self.holder(key.digest).await?;
            let seen = before.as_ref().map_or_else(
                || Condition::new("attribute_not_exists(#pk)"),
                |(_, id)| Condition::new("#key_id = :seen").with("seen", s(id.to_string())),
            );
            let mut steps = vec![
                Step::Put(Table::Configs, pointer.clone(), Some(seen)),
                Step::Put(Table::Configs, item(&key)?, None),
                Step::Put(Table::Configs, Key::tenant(&key.tenant).item(), None),
            ];
            if let Some((tenant, id)) = before
                && (&tenant, id) != (&key.tenant, key.id)
            {
                steps.push(Step::Delete(
                    Table::Configs,
                    Key::api_key(&tenant, id),
                    None,
                ));
            }
            if self.transact(&steps).await? == Transacted::Done {
                return Ok(());
            }
        }
        Err(fault::contended("an API key"))
    }

    async fn revoke_key(&self, tenant: &TenantId, id: KeyId) -> Result<bool> {
        let key = Key::api_key(tenant, id);
        let Some(found) = self.get(Table::Configs, &key).await? else {
            return Ok(false);
        };
        let there = Condition::new("attribute_exists(#pk)");
        let digest = read(found, tenant)?.digest;
        let steps = [
            Step::Delete(Table::Configs, key, Some(there)),
            Step::Delete(Table::Configs, Key::digest(digest), None),
        ];
        Ok(self.transact(&steps).await? == Transacted::Done)
    }

    async fn touch_key(&self, tenant: &TenantId, id: KeyId, at: Timestamp) -> Result<()> {
        let there = Condition::new("attribute_exists(#pk)");
        let touch = Change::of(Table::Configs, Key::api_key(tenant, id))
            .set("last_used_at", ms(at))
            .only_if(there);
        self.change(touch).await?;
        Ok(())
    }
}

impl DynamoStore {
    async fn holder(&self, digest: KeyDigest) -> Result<Option<(TenantId, KeyId)>> {
        let Some(found) = self.get(Table::Configs, &Key::digest(digest)).await? else {
            return Ok(None);
        };
        let pointer: Pointer = from_item(found, "an API key's digest")?;
        let tenant = pointer.tenant.parse();
        let tenant = tenant.map_err(|_| unreadable("an API key's tenant"))?;
        Ok(Some((tenant, pointer.key_id)))
    }
}

fn pointer(key: &ApiKey) -> Result<Item> {
    let mut item = to_item(&Pointer {
        tenant: key.tenant.as_str().to_owned(),
        key_id: key.id,
    })?;
    item.extend(Key::digest(key.digest).item());
    Ok(item)
}

fn item(key: &ApiKey) -> Result<Item> {
    let mut item = to_item(&Stored {
        id: key.id,
        name: key.name.clone(),
        scopes: key.scopes.clone(),
        created_at: key.created_at,
        last_used_at: key.last_used_at,
    })?;
    item.extend(Key::api_key(&key.tenant, key.id).item());
    let digest = AttributeValue::B(Blob::new(key.digest.0));
    item.insert(DIGEST.to_owned(), digest);
    Ok(item)
}

fn read(mut item: Item, tenant: &TenantId) -> Result<ApiKey> {
    let digest = match item.remove(DIGEST) {
        Some(AttributeValue::B(bytes)) => bytes.into_inner().try_into().ok(),
        Some(_) | None => None,
    };
    let digest = digest.ok_or_else(|| unreadable("an API key's digest"))?;
    let stored: Stored = from_item(item, "an API key")?;
    Ok(ApiKey {
        id: stored.id,
        tenant: tenant.clone(),
        name: stored.name,
        scopes: stored.scopes,
        digest: KeyDigest(digest),
        created_at: stored.created_at,
        last_used_at: stored.last_used_at,
    })
}
