//! Deletes what a tenant has, slice by slice, by the keys of its partitions. Two things are left that no key leads to: events
//! without deliveries and links to the portal, which expire. The tenant's data key stays, because processes remember it,
//! and so does the version of its webhooks.

use postrider_domain::ids::{KeyId, SourceId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::configs::{ApiKeys, Webhooks};
use postrider_ports::erasures::DeletedSettings;
use postrider_ports::history::Cursor;
use postrider_ports::sources::Sources;

use super::DynamoStore;
use super::calls::{Query, Step, Table, Transacted};
use super::erasures::marker_of;
use super::jobs;
use super::keys::{
    API_KEY_PREFIX, DELETED_PREFIX, EVENT_TYPE_PREFIX, Key, SOURCE_PREFIX, WEBHOOK_PREFIX,
};
use super::version::raised_with;
use crate::fault;

/// The cursor once the partitions of webhooks are empty.
const OWN_PARTITION: &str = "tenant";

impl DynamoStore {
    pub(super) async fn delete_some_settings(
        &self,
        tenant: &TenantId,
        limit: usize,
        now: Timestamp,
    ) -> Result<DeletedSettings> {
        let mut deleted = DeletedSettings::default();
        for key in self.some_settings(tenant, API_KEY_PREFIX, limit).await? {
            match key.sk.parse::<KeyId>() {
                Ok(id) => drop(self.revoke_key(tenant, id).await?),
                Err(_) => self.remove(Table::Configs, &key, None).await?,
            }
            deleted.keys += 1;
        }
        for key in self.some_settings(tenant, WEBHOOK_PREFIX, limit).await? {
            match key.sk.parse::<WebhookId>() {
                Ok(id) => drop(self.delete_webhook(tenant, id, now).await?),
                Err(_) => self.remove(Table::Configs, &key, None).await?,
            }
            deleted.webhooks += 1;
        }
        for key in self.some_settings(tenant, SOURCE_PREFIX, limit).await? {
            match key.sk.parse::<SourceId>() {
                Ok(id) => {
                    self.empty(&format!("{tenant}#{id}")).await?;
                    self.delete_source(tenant, id).await?;
                }
                Err(_) => self.remove(Table::Configs, &key, None).await?,
            }
            deleted.sources += 1;
        }
        let types = self.some_settings(tenant, EVENT_TYPE_PREFIX, limit).await?;
        deleted.event_types = types.len() as u64;
        self.remove_all(Table::Configs, types).await?;
        Ok(deleted)
    }

    async fn some_settings(
        &self,
        tenant: &TenantId,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<Key>> {
        let query = Query {
            limit: Some(limit),
            ..Query::prefix(Table::Configs, tenant.as_str(), prefix)
        };
        let found = self.query(query).await?;
        found.items.iter().map(Key::of).collect()
    }

    /// First the counters of webhooks: deleted webhooks are listed until the end, because the publisher may still count.
    pub(super) async fn delete_some_rest(
        &self,
        tenant: &TenantId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Option<Cursor>> {
        let own = || Some(Cursor(OWN_PARTITION.to_owned()));
        let after = match after {
            Some(Cursor(text)) if text == OWN_PARTITION => {
                let more = self.empty_own_partition(tenant, limit).await?;
                return Ok(own().filter(|_| more));
            }
            Some(Cursor(text)) => Some(Key::new(tenant.as_str(), text).item()),
            None => None,
        };
        let found = self
            .query(Query {
                // Each has a partition of its own.
                limit: Some(limit.div_ceil(10)),
                after,
                ..Query::prefix(Table::Configs, tenant.as_str(), DELETED_PREFIX)
            })
            .await?;
        for item in &found.items {
            let key = Key::of(item)?;
            let id = key.sk.strip_prefix(DELETED_PREFIX);
            if let Some(id) = id.and_then(|id| id.parse::<WebhookId>().ok()) {
                self.empty(&format!("{tenant}#{id}")).await?;
                let registration = Key::registration(tenant, id);
                self.remove(Table::Deliveries, &registration, None).await?;
            }
        }
        match found.next {
            Some(next) => Ok(Some(Cursor(Key::of(&next)?.sk))),
            None => Ok(own()),
        }
    }

    /// Deletes all items of a partition: the counters of a webhook, or the rejected requests of a source. There are at most a
    /// few thousand.
    async fn empty(&self, pk: &str) -> Result<()> {
        let items = self.query_all(Query::partition(Table::Deliveries, pk));
        let keys = items.await?.iter().map(Key::of).collect::<Result<_>>()?;
        self.remove_all(Table::Deliveries, keys).await
    }

    /// Deletes bulk retries, erasures and notifications. Returns whether there is more.
    async fn empty_own_partition(&self, tenant: &TenantId, limit: usize) -> Result<bool> {
        let query = Query {
            limit: Some(limit),
            ..Query::partition(Table::Deliveries, tenant.as_str())
        };
        let found = self.query(query).await?;
        let keys = found.items.iter().map(Key::of);
        let keys = keys.collect::<Result<Vec<_>>>()?;
        let markers = keys
            .iter()
            .filter_map(|key| marker_of(tenant, key).or_else(|| jobs::marker_of(tenant, key)));
        self.remove_all(Table::Deliveries, markers.collect())
            .await?;
        self.remove_all(Table::Deliveries, keys).await?;
        Ok(found.next.is_some())
    }

    /// The record goes last: it leads to the tenant.
    pub(super) async fn delete_tenant_record(&self, tenant: &TenantId) -> Result<()> {
        let record = Key::tenant_record(tenant);
        let kept = [record.clone(), Key::data_key(tenant)];
        let items = self.query_all(Query::partition(Table::Configs, tenant.as_str()));
        let keys = items
            .await?
            .iter()
            .map(Key::of)
            .collect::<Result<Vec<_>>>()?;
        let rest = keys.into_iter().filter(|key| !kept.contains(key));
        self.remove_all(Table::Configs, rest.collect()).await?;
        let mut steps = vec![
            Step::Delete(Table::Configs, record, None),
            Step::Delete(Table::Configs, Key::tenant(tenant), None),
        ];
        steps.extend(raised_with(tenant, None));
        match self.transact(&steps).await? {
            Transacted::Done => Ok(()),
            Transacted::Conflicted(_) => Err(fault::contended("the record of a tenant")),
        }
    }
}
