//! Sources: one item in the tenant's partition, and one, found by id alone, that points to the tenant.

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::source::{MAX_SOURCES, Source};
use postrider_domain::time::Timestamp;
use postrider_ports::configs::{Changed, Created};
use postrider_ports::sources::{SourceChange, Sources};
use postrider_ports::{Error, Result};
use postrider_store_format::{StoredSource, Vault};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Query, Step, Table, Transacted};
use super::item::{Item, from_item, ms, n, s, to_item};
use super::keys::{Key, SOURCE_PREFIX};
use super::webhook_item::{SEALED, sealed};
use crate::fault::unreadable;

/// The attribute that counts the sources.
const COUNT: &str = "sources";

#[derive(Serialize, Deserialize)]
struct Open {
    #[serde(rename = "sk")]
    id: SourceId,
    settings: String,
    created_at: Timestamp,
    updated_at: Timestamp,
}

/// Points from a source to its tenant.
#[derive(Serialize, Deserialize)]
struct Pointer {
    tenant: TenantId,
}

#[async_trait]
impl Sources for DynamoStore {
    async fn sources(&self, tenant: &TenantId) -> Result<Vec<Source>> {
        let query = Query::prefix(Table::Configs, tenant.as_str(), SOURCE_PREFIX);
        let items = self.query_all(query).await?;
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let vault = self.vault(tenant).await?;
        let sources = items.into_iter().map(|item| read(item, tenant, &vault));
        sources.collect()
    }

    async fn source(&self, tenant: &TenantId, id: SourceId) -> Result<Option<Source>> {
        let Some(item) = self.get(Table::Configs, &Key::source(tenant, id)).await? else {
            return Ok(None);
        };
        let vault = self.vault(tenant).await?;
        read(item, tenant, &vault).map(Some)
    }

    async fn source_by_id(&self, id: SourceId) -> Result<Option<Source>> {
        let pointer = self.get(Table::Configs, &Key::source_owner(id)).await?;
        let pointer = pointer.map(|item| from_item::<Pointer>(item, "the owner of a source"));
        // Read in any case, so that an unknown id is not answered sooner.
        let tenant = pointer
            .transpose()?
            .map_or_else(TenantId::default, |found| found.tenant);
        self.source(&tenant, id).await
    }

    async fn create_source(&self, source: Source) -> Result<Created> {
        let (tenant, id) = (&source.tenant, source.id);
        let vault = self.vault_for_sealing(tenant).await?;
        let stored = StoredSource::of(&vault, tenant, id, &source.settings, &source.secrets)?;
        let fresh = || Some(Condition::new("attribute_not_exists(#pk)"));
        let room = Condition::new("attribute_not_exists(#sources) OR #sources < :most")
            .with("most", n(MAX_SOURCES));
        let steps = [
            Step::Change(counted(tenant, 1).only_if(room)),
            Step::Put(Table::Configs, item(&source, stored)?, fresh()),
            Step::Put(Table::Configs, pointer(tenant, id)?, fresh()),
        ];
        match self.transact(&steps).await? {
            Transacted::Done => Ok(Created::Done),
            Transacted::Conflicted(places) if places.contains(&0) => Ok(Created::TooMany),
            Transacted::Conflicted(_) => Err(Error::Broken("the source already exists".to_owned())),
        }
    }

    async fn change_source(
        &self,
        tenant: &TenantId,
        id: SourceId,
        change: SourceChange,
    ) -> Result<Changed> {
        let key = Key::source(tenant, id);
        if self.get(Table::Configs, &key).await?.is_none() {
            return Ok(Changed::Missing);
        }
        let vault = self.vault_for_sealing(tenant).await?;
        let stored = StoredSource::of(&vault, tenant, id, &change.settings, &change.secrets)?;
        let seen = Condition::new("#updated_at = :seen").with("seen", ms(change.seen));
        let update = Change::of(Table::Configs, key.clone())
            .set("settings", s(stored.settings))
            .set(SEALED, sealed(stored.sealed))
            .set("updated_at", ms(change.updated_at))
            .only_if(seen);
        if self.change(update).await?.is_some() {
            return Ok(Changed::Done);
        }
        let there = self.get(Table::Configs, &key).await?.is_some();
        Ok(if there {
            Changed::Outdated
        } else {
            Changed::Missing
        })
    }

    async fn delete_source(&self, tenant: &TenantId, id: SourceId) -> Result<bool> {
        let there = Condition::new("attribute_exists(#pk)");
        let steps = [
            Step::Delete(Table::Configs, Key::source(tenant, id), Some(there)),
            Step::Delete(Table::Configs, Key::source_owner(id), None),
            Step::Change(counted(tenant, -1)),
            Step::Delete(Table::Deliveries, Key::rejection_counts(tenant, id), None),
        ];
        Ok(self.transact(&steps).await? == Transacted::Done)
    }
}

fn counted(tenant: &TenantId, by: i8) -> Change {
    Change::of(Table::Configs, Key::counts(tenant)).add(COUNT, n(by))
}

fn item(source: &Source, stored: StoredSource) -> Result<Item> {
    let mut item = to_item(&Open {
        id: source.id,
        settings: stored.settings,
        created_at: source.created_at,
        updated_at: source.updated_at,
    })?;
    item.extend(Key::source(&source.tenant, source.id).item());
    item.insert(SEALED.to_owned(), sealed(stored.sealed));
    Ok(item)
}

fn pointer(tenant: &TenantId, id: SourceId) -> Result<Item> {
    let mut item = to_item(&Pointer {
        tenant: tenant.clone(),
    })?;
    item.extend(Key::source_owner(id).item());
    Ok(item)
}

fn read(mut item: Item, tenant: &TenantId, vault: &Vault) -> Result<Source> {
    let sealed = match item.remove(SEALED) {
        Some(AttributeValue::B(bytes)) => bytes.into_inner(),
        Some(_) | None => return Err(unreadable("the secrets of a source")),
    };
    let open: Open = from_item(item, "the settings of a source")?;
    let stored = StoredSource {
        settings: open.settings,
        sealed,
    };
    let (settings, secrets) = stored.open(vault, tenant, open.id)?;
    Ok(Source {
        id: open.id,
        tenant: tenant.clone(),
        settings,
        secrets,
        created_at: open.created_at,
        updated_at: open.updated_at,
    })
}
