//! Erasures and their progress. An unfinished one has a marker among the chores, where the poller finds it.

use async_trait::async_trait;
use data_encoding::HEXLOWER;
use postrider_domain::event::Label;
use postrider_domain::ids::{ErasureId, EventId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::erasures::{DeletedSettings, Erasure, Erasures, EventErased};
use postrider_ports::history::Cursor;
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{Condition, Order, Query, Step, Table, Transacted};
use super::chores::SETTLED_AFTER;
use super::item::{Item, n, s};
use super::keys::{CHORES, ERASURE_PREFIX, Key};
use crate::fault::{self, readable, unreadable};

/// How many times a change is retried when other writers change the same erasure.
const TRIES: usize = 5;

const ERASURE: &str = "erasure";
const STEP: &str = "step";

#[async_trait]
impl Erasures for DynamoStore {
    async fn create_erasure(&self, tenant: &TenantId, erasure: Erasure) -> Result<()> {
        self.save_erasure(tenant, &erasure, None).await?;
        Ok(())
    }

    async fn erasure(&self, tenant: &TenantId, id: ErasureId) -> Result<Option<Erasure>> {
        let found = self.get(Table::Deliveries, &key(tenant, id)).await?;
        found.as_ref().map(read).transpose()
    }

    async fn erasures(
        &self,
        tenant: &TenantId,
        limit: usize,
        before: Option<ErasureId>,
    ) -> Result<Vec<Erasure>> {
        let found = self
            .query(Query {
                order: Order::Descending,
                limit: Some(limit),
                after: before.map(|id| key(tenant, id).item()),
                ..Query::prefix(Table::Deliveries, tenant.as_str(), ERASURE_PREFIX)
            })
            .await?;
        found.items.iter().map(read).collect()
    }

    async fn progress_erasure(
        &self,
        tenant: &TenantId,
        erasure: Erasure,
    ) -> Result<Option<Erasure>> {
        for _ in 0..TRIES {
            let Some(stored) = self.erasure(tenant, erasure.id).await? else {
                return Ok(None);
            };
            let Some(advanced) = stored.advanced_to(&erasure) else {
                return Ok(Some(stored));
            };
            let saved = self.save_erasure(tenant, &advanced, Some(stored.step));
            if saved.await? {
                return Ok(Some(advanced));
            }
        }
        Err(fault::contended("the erasure"))
    }

    async fn unfinished_erasures(&self) -> Result<Vec<(TenantId, Erasure)>> {
        let markers = Query::prefix(Table::Deliveries, CHORES, ERASURE_PREFIX);
        let mut unfinished = Vec::new();
        for marker in self.query_all(markers).await? {
            let Some((tenant, id)) = readable(Key::of(&marker).and_then(|key| read_marker(&key)))?
            else {
                continue;
            };
            let erasure = readable(self.erasure(&tenant, id).await)?.flatten();
            let erasure = erasure.filter(|erasure| !erasure.has_ended());
            unfinished.extend(erasure.map(|erasure| (tenant, erasure)));
        }
        Ok(unfinished)
    }

    async fn erase_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased> {
        self.erase_content(tenant, id, now).await
    }

    async fn erase_from_jobs(&self, tenant: &TenantId, session: &Label) -> Result<bool> {
        self.erase_session_from_jobs(tenant, session).await
    }

    async fn erased_at(&self, tenant: &TenantId, id: EventId) -> Result<Option<Timestamp>> {
        let kept = self.kept(tenant, id).await?;
        Ok(kept.and_then(|kept| kept.erased_at))
    }

    /// What DynamoDB and S3 do with deleted bytes is theirs.
    async fn scrub(&self) -> Result<bool> {
        Ok(true)
    }

    fn lists_lag(&self) -> Millis {
        SETTLED_AFTER
    }

    async fn delete_settings(
        &self,
        tenant: &TenantId,
        limit: usize,
        now: Timestamp,
    ) -> Result<DeletedSettings> {
        self.delete_some_settings(tenant, limit, now).await
    }

    async fn delete_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<EventErased> {
        self.delete_whole_event(tenant, id, now).await
    }

    async fn delete_rest(
        &self,
        tenant: &TenantId,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Option<Cursor>> {
        self.delete_some_rest(tenant, limit, after).await
    }

    async fn forget_tenant(&self, tenant: &TenantId) -> Result<()> {
        self.delete_tenant_record(tenant).await
    }
}

impl DynamoStore {
    /// Stores an erasure if it is unchanged since it was read, and marks it while it is unfinished. Returns whether it was
    /// stored.
    async fn save_erasure(
        &self,
        tenant: &TenantId,
        erasure: &Erasure,
        seen: Option<u64>,
    ) -> Result<bool> {
        let text =
            serde_json::to_string(erasure).map_err(|error| Error::Broken(error.to_string()))?;
        let mut item = key(tenant, erasure.id).item();
        item.insert(ERASURE.to_owned(), s(text));
        item.insert(STEP.to_owned(), n(erasure.step));
        let condition = seen.map(|seen| Condition::new("#step = :seen").with("seen", n(seen)));
        let marker = marker(tenant, erasure.id);
        let marked = if erasure.has_ended() {
            Step::Delete(Table::Deliveries, marker, None)
        } else {
            Step::Put(Table::Deliveries, marker.item(), None)
        };
        let steps = [Step::Put(Table::Deliveries, item, condition), marked];
        Ok(self.transact(&steps).await? == Transacted::Done)
    }
}

/// Ordered by time, unlike the written form of the id.
fn key(tenant: &TenantId, id: ErasureId) -> Key {
    let id = HEXLOWER.encode(id.as_bytes());
    Key::new(tenant.as_str(), format!("{ERASURE_PREFIX}{id}"))
}

fn marker(tenant: &TenantId, id: ErasureId) -> Key {
    Key::new(CHORES, format!("{ERASURE_PREFIX}{tenant}#{id}"))
}

fn read_marker(marker: &Key) -> Result<(TenantId, ErasureId)> {
    let parts = || {
        let (tenant, id) = marker.sk.strip_prefix(ERASURE_PREFIX)?.split_once('#')?;
        Some((tenant.parse().ok()?, id.parse().ok()?))
    };
    parts().ok_or_else(|| unreadable("the marker of an erasure"))
}

/// The marker of an erasure with this key, to be deleted with it.
pub(super) fn marker_of(tenant: &TenantId, key: &Key) -> Option<Key> {
    let id = key.sk.strip_prefix(ERASURE_PREFIX)?;
    let id = HEXLOWER.decode(id.as_bytes()).ok()?.try_into().ok()?;
    Some(marker(tenant, ErasureId::from_bytes(id)))
}

fn read(item: &Item) -> Result<Erasure> {
    let text = item.get(ERASURE).and_then(|text| text.as_s().ok());
    let erasure = text.and_then(|text| serde_json::from_str(text).ok());
    erasure.ok_or_else(|| unreadable("an erasure"))
}
