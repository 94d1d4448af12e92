//! Records of tenants: names and limits. Each is an item in its tenant's partition; the list of all tenants leads to it.

use std::collections::HashMap;

use async_trait::async_trait;
use postrider_domain::ids::TenantId;
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;
use postrider_ports::configs::Changed;
use postrider_ports::tenants::Tenants;
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{Condition, Query, Step, Table, Transacted};
use super::item::{Item, ms, s};
use super::keys::{Key, TENANTS};
use super::version::raised_with;
use crate::fault::unreadable;

const RECORD: &str = "record";

#[async_trait]
impl Tenants for DynamoStore {
    async fn tenant(&self, id: &TenantId) -> Result<Option<Tenant>> {
        if let Some(record) = self.tenant_record(id).await? {
            return Ok(Some(record));
        }
        let is_known = id.as_str() == TenantId::DEFAULT
            || self.get(Table::Configs, &Key::tenant(id)).await?.is_some();
        Ok(is_known.then(|| Tenant::unrecorded(id.clone())))
    }

    async fn tenant_page(&self, limit: usize, after: Option<&TenantId>) -> Result<Vec<Tenant>> {
        let mut ids = self.listed_after(limit, after).await?;
        let default = TenantId::default();
        if after.is_none_or(|after| default > *after)
            && let Err(place) = ids.binary_search(&default)
        {
            // It exists even before anything is stored.
            ids.insert(place, default);
            ids.truncate(limit);
        }
        let keys = ids
            .iter()
            .map(|id| (Table::Configs, Key::tenant_record(id)));
        let mut records = HashMap::new();
        for (_, item) in self.get_all(keys.collect()).await? {
            let record = read(&item)?;
            records.insert(record.id.clone(), record);
        }
        let tenant = |id: TenantId| {
            let record = records.remove(&id);
            record.unwrap_or_else(|| Tenant::unrecorded(id))
        };
        Ok(ids.into_iter().map(tenant).collect())
    }

    async fn put_tenant(&self, tenant: Tenant, seen: Option<Timestamp>) -> Result<Changed> {
        let condition = match seen {
            Some(seen) => Condition::new("#updated_at = :seen").with("seen", ms(seen)),
            None => Condition::new("attribute_not_exists(#pk)"),
        };
        let mut steps = vec![
            Step::Put(Table::Configs, item(&tenant)?, Some(condition)),
            Step::Put(Table::Configs, Key::tenant(&tenant.id).item(), None),
        ];
        steps.extend(raised_with(&tenant.id, tenant.retention));
        match self.transact(&steps).await? {
            Transacted::Done => Ok(Changed::Done),
            Transacted::Conflicted(_) => Ok(Changed::Outdated),
        }
    }
}

impl DynamoStore {
    /// The tenant's record, if it has one.
    pub(super) async fn tenant_record(&self, id: &TenantId) -> Result<Option<Tenant>> {
        let found = self.get(Table::Configs, &Key::tenant_record(id)).await?;
        found.as_ref().map(read).transpose()
    }

    /// The ids of listed tenants after this one.
    async fn listed_after(&self, limit: usize, after: Option<&TenantId>) -> Result<Vec<TenantId>> {
        let mut query = Query {
            limit: Some(limit),
            after: after.map(|after| Key::tenant(after).item()),
            ..Query::partition(Table::Configs, TENANTS)
        };
        let mut ids = Vec::new();
        loop {
            let found = self.query(query.clone()).await?;
            for item in &found.items {
                let id = Key::of(item)?.sk.parse();
                ids.push(id.map_err(|_| unreadable("a tenant"))?);
            }
            match found.next {
                Some(next) if ids.len() < limit => query.after = Some(next),
                Some(_) | None => break,
            }
        }
        ids.truncate(limit);
        Ok(ids)
    }
}

fn item(tenant: &Tenant) -> Result<Item> {
    let updated_at = tenant.updated_at();
    let updated_at = updated_at
        .ok_or_else(|| Error::Broken("a tenant without a record cannot be stored".to_owned()))?;
    let text = serde_json::to_string(tenant).map_err(|error| Error::Broken(error.to_string()))?;
    let mut item = Key::tenant_record(&tenant.id).item();
    item.insert(RECORD.to_owned(), s(text));
    item.insert("updated_at".to_owned(), ms(updated_at));
    Ok(item)
}

fn read(item: &Item) -> Result<Tenant> {
    let text = item.get(RECORD).and_then(|text| text.as_s().ok());
    let tenant = text.and_then(|text| serde_json::from_str(text).ok());
    tenant.ok_or_else(|| unreadable("the record of a tenant"))
}
