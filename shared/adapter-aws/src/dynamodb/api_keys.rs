//! API keys: one item that is found by the digest, so that a request reads a single item, and one in the tenant's partition
//! that names the digest.

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

/// The key, found by its digest.
#[derive(Serialize, Deserialize)]
struct Stored {
    tenant: String,
    key_id: KeyId,
    name: String,
    scopes: Vec<Scope>,
    created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
}

#[async_trait]
impl ApiKeys for DynamoStore {
    async fn key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>> {
        let found = self.get(Table::Configs, &Key::digest(digest)).await?;
        found.map(|item| read(item, digest)).transpose()
    }

    async fn keys(&self, tenant: &TenantId) -> Result<Vec<ApiKey>> {
        let query = Query::prefix(Table::Configs, tenant.as_str(), API_KEY_PREFIX);
        let digests = self.query_all(query).await?;
        let digests = digests.iter().map(digest_in).collect::<Result<Vec<_>>>()?;
        let wanted = digests
            .iter()
            .map(|digest| (Table::Configs, Key::digest(*digest)));
        let mut keys = Vec::with_capacity(digests.len());
        for (_, item) in self.get_all(wanted.collect()).await? {
            let key = Key::of(&item)?;
            let digest = digests.iter().find(|digest| Key::digest(**digest) == key);
            let digest = digest.ok_or_else(|| unreadable("an API key's digest"))?;
            keys.push(read(item, *digest)?);
        }
        keys.sort_by_key(|key| (key.created_at, key.id));
        Ok(keys)
    }

    async fn put_key(&self, key: ApiKey) -> Result<()> {
        for _ in 0..ROUNDS {
            let before = self.key_by_digest(key.digest).await?;
            let seen = before.as_ref().map_or_else(
                || Condition::new("attribute_not_exists(#pk)"),
                |before| Condition::new("#key_id = :seen").with("seen", s(before.id.to_string())),
            );
            let mut steps = vec![
                Step::Put(Table::Configs, item(&key)?, Some(seen)),
                Step::Put(Table::Configs, listed(&key), None),
                Step::Put(Table::Configs, Key::tenant(&key.tenant).item(), None),
            ];
            if let Some(before) = before
                && (&before.tenant, before.id) != (&key.tenant, key.id)
            {
                let listed = Key::api_key(&before.tenant, before.id);
                steps.push(Step::Delete(Table::Configs, listed, None));
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
        let steps = [
            Step::Delete(Table::Configs, key, Some(there)),
            Step::Delete(Table::Configs, Key::digest(digest_in(&found)?), None),
        ];
        Ok(self.transact(&steps).await? == Transacted::Done)
    }

    async fn touch_key(&self, key: &ApiKey, at: Timestamp) -> Result<()> {
        let is_its = Condition::new("#tenant = :tenant AND #key_id = :id")
            .with("tenant", s(key.tenant.as_str()))
            .with("id", s(key.id.to_string()));
        let touch = Change::of(Table::Configs, Key::digest(key.digest))
            .set("last_used_at", ms(at))
            .only_if(is_its);
        self.change(touch).await?;
        Ok(())
    }
}

/// The item in the tenant's partition.
fn listed(key: &ApiKey) -> Item {
    let mut item = Key::api_key(&key.tenant, key.id).item();
    let digest = AttributeValue::B(Blob::new(key.digest.0));
    item.insert(DIGEST.to_owned(), digest);
    item
}

fn digest_in(listed: &Item) -> Result<KeyDigest> {
    let bytes = listed.get(DIGEST).and_then(|digest| digest.as_b().ok());
    let digest = bytes.and_then(|bytes| bytes.as_ref().try_into().ok());
    digest
        .map(KeyDigest)
        .ok_or_else(|| unreadable("an API key's digest"))
}

fn item(key: &ApiKey) -> Result<Item> {
    let mut item = to_item(&Stored {
        tenant: key.tenant.as_str().to_owned(),
        key_id: key.id,
        name: key.name.clone(),
        scopes: key.scopes.clone(),
        created_at: key.created_at,
        last_used_at: key.last_used_at,
    })?;
    item.extend(Key::digest(key.digest).item());
    Ok(item)
}

fn read(item: Item, digest: KeyDigest) -> Result<ApiKey> {
    let stored: Stored = from_item(item, "an API key")?;
    let tenant = stored.tenant.parse();
    Ok(ApiKey {
        id: stored.key_id,
        tenant: tenant.map_err(|_| unreadable("an API key's tenant"))?,
        name: stored.name,
        scopes: stored.scopes,
        digest,
        created_at: stored.created_at,
        last_used_at: stored.last_used_at,
    })
}
