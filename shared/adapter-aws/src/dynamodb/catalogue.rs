//! The catalogue of event types: one item per type, in the tenant's partition.

use async_trait::async_trait;
use postrider_domain::event_catalogue::CatalogueEntry;
use postrider_domain::ids::TenantId;
use postrider_domain::pattern::EventType;
use postrider_ports::catalogue::Catalogue;
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{Condition, Query, Step, Table, Transacted};
use super::deflated::{Stored, take_restored};
use super::item::Item;
use super::keys::{EVENT_TYPE_PREFIX, Key};
use super::version::raised;
use crate::fault::unreadable;

/// JSON: the entry.
const ENTRY: &str = "entry";
/// Far more than an entry can have.
const MAX_ENTRY_BYTES: usize = 1024 * 1024;

#[async_trait]
impl Catalogue for DynamoStore {
    async fn event_types(&self, tenant: &TenantId) -> Result<Vec<CatalogueEntry>> {
        let query = Query::prefix(Table::Configs, tenant.as_str(), EVENT_TYPE_PREFIX);
        let items = self.query_all(query).await?;
        items.into_iter().map(read).collect()
    }

    async fn event_type(
        &self,
        tenant: &TenantId,
        name: &EventType,
    ) -> Result<Option<CatalogueEntry>> {
        let key = Key::event_type(tenant, name);
        let found = self.get(Table::Configs, &key).await?;
        found.map(read).transpose()
    }

    async fn put_event_type(&self, tenant: &TenantId, entry: CatalogueEntry) -> Result<()> {
        let mut item = Key::event_type(tenant, &entry.name).item();
        let json = serde_json::to_vec(&entry).map_err(|error| Error::Broken(error.to_string()))?;
        Stored::of(&json).put(&mut item, ENTRY);
        let mut steps = vec![Step::Put(Table::Configs, item, None)];
        steps.extend(raised(tenant));
        match self.transact(&steps).await? {
            Transacted::Done => Ok(()),
            Transacted::Conflicted(_) => Err(Error::Broken(
                "an unconditional change was refused".to_owned(),
            )),
        }
    }

    async fn delete_event_type(&self, tenant: &TenantId, name: &EventType) -> Result<bool> {
        let there = Condition::new("attribute_exists(#pk)");
        let key = Key::event_type(tenant, name);
        let mut steps = vec![Step::Delete(Table::Configs, key, Some(there))];
        steps.extend(raised(tenant));
        Ok(self.transact(&steps).await? == Transacted::Done)
    }
}

fn read(mut item: Item) -> Result<CatalogueEntry> {
    let json = take_restored(&mut item, ENTRY, MAX_ENTRY_BYTES)?;
    serde_json::from_slice(&json).map_err(|_| unreadable("an event type"))
}
