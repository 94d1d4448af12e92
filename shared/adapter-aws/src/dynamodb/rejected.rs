//! Rejected requests: a ring buffer per source, and counts that give its current position.
//!
//! Every rejection makes three calls, whether the source exists or not: a read of the counts, an update of the counts, and a
//! put of the request. A request that is only counted is read instead of put, so that it costs a single write unit: anyone
//! can send any number of them.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::ids::{RejectedId, SourceId, TenantId};
use postrider_domain::inbound::Rejection;
use postrider_domain::notification::{Notification, rejection_notification};
use postrider_domain::rejected::{
    KEPT_FOR, RING, RejectedRequest, RejectionCounts, StoredRejection,
};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::rejected::RejectedRequests;
use postrider_store_format::{KEY_BYTES, Vault, seal_request, unseal_request};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::item::{Item, from_item, n, to_item};
use super::keys::Key;
use super::webhook_item::{SEALED, sealed};
use crate::fault::unreadable;

/// The unencrypted part of a rejected request, from which its notification is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Open {
    place: u64,
    at: Timestamp,
    reason: Rejection,
    body_bytes: u64,
    is_cut: bool,
    /// How many of the source's requests had only been counted when this one was stored.
    counted: u64,
    expires_at: i64,
}

impl Open {
    /// Reads an item, or the image in a stream record.
    pub(super) fn of(item: Item) -> Result<Self> {
        from_item(item, "a rejected request")
    }

    pub(super) fn notification(&self, tenant: &TenantId, source: SourceId) -> Option<Notification> {
        let (id, at) = (self.id(), self.at);
        rejection_notification(tenant, source, id, self.reason, at, self.counted)
    }

    fn id(&self) -> RejectedId {
        RejectedId::of(self.at, self.place)
    }
}

#[async_trait]
impl RejectedRequests for DynamoStore {
    async fn store_rejected(&self, rejected: RejectedRequest) -> Result<Option<RejectedId>> {
        let (tenant, source) = (&rejected.tenant, rejected.source);
        let vault = self.vault_of(&rejected).await?;
        let content = seal_request(&vault, tenant, source, &rejected.request)?;
        let before = self.rejection_counts(tenant, source).await?;
        let (after, place) = before.with_one_more(rejected.at);
        let place = self.take(tenant, source, (before, after), place).await?;
        let (open, item) = item(&rejected, place.unwrap_or(0), after.counted, content)?;
        if place.is_none() {
            // Without this read it would be answered sooner, which would show that the source is flooded.
            self.rejection_counts(tenant, source).await?;
            return Ok(None);
        }
        self.put(Table::Deliveries, item, None).await?;
        Ok(Some(open.id()))
    }

    async fn rejections(
        &self,
        tenant: &TenantId,
        source: SourceId,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<StoredRejection>> {
        let RejectionCounts { stored, .. } = self.rejection_counts(tenant, source).await?;
        let oldest = stored.saturating_sub(RING);
        let places = (oldest..stored).rev().take(limit);
        let keys = places.map(|place| (Table::Deliveries, Key::rejected(tenant, source, place)));
        let items = self.get_all(keys.collect()).await?;
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let vault = self.vault(tenant).await?;
        let read = items
            .into_iter()
            .map(|(_, item)| read(item, tenant, source, &vault));
        let mut found = read.collect::<Result<Vec<_>>>()?;
        // The item that should have replaced it may never have been written.
        found.retain(|kept| kept.id.place() >= oldest && is_current(kept, now));
        found.sort_by_key(|kept| std::cmp::Reverse(kept.id.place()));
        Ok(found)
    }

    async fn rejected_request(
        &self,
        tenant: &TenantId,
        source: SourceId,
        id: RejectedId,
        now: Timestamp,
    ) -> Result<Option<StoredRejection>> {
        // Of a source that was deleted, the requests are left until they expire.
        let RejectionCounts { stored, .. } = self.rejection_counts(tenant, source).await?;
        if !(stored.saturating_sub(RING)..stored).contains(&id.place()) {
            return Ok(None);
        }
        let key = Key::rejected(tenant, source, id.place());
        let Some(item) = self.get(Table::Deliveries, &key).await? else {
            return Ok(None);
        };
        let vault = self.vault(tenant).await?;
        let found = read(item, tenant, source, &vault)?;
        Ok(Some(found).filter(|kept| kept.id == id && is_current(kept, now)))
    }

    async fn rejection_counts(
        &self,
        tenant: &TenantId,
        source: SourceId,
    ) -> Result<RejectionCounts> {
        let key = Key::rejection_counts(tenant, source);
        let item = self.get(Table::Deliveries, &key).await?;
        let counts = item.map(|item| from_item(item, "the counts of rejected requests"));
        Ok(counts.transpose()?.unwrap_or_default())
    }
}

impl DynamoStore {
    /// Requests to unknown sources are blank, so the key that seals them does not have to be secret.
    async fn vault_of(&self, rejected: &RejectedRequest) -> Result<Arc<Vault>> {
        if rejected.is_to_unknown_source() {
            return Vault::with_key(&[0; KEY_BYTES]).map(Arc::new);
        }
        self.vault(&rejected.tenant).await
    }

    /// Updates the counts, and returns whether the position was still free. If not, the request is only counted.
    async fn take(
        &self,
        tenant: &TenantId,
        source: SourceId,
        (before, after): (RejectionCounts, RejectionCounts),
        place: Option<u64>,
    ) -> Result<Option<u64>> {
        let counts = || Change::of(Table::Deliveries, Key::rejection_counts(tenant, source));
        if place.is_some() {
            let free = Condition::new("attribute_not_exists(#kept) OR #kept = :seen");
            let taken = counts()
                .set("kept", n(after.stored))
                .set("minute", n(after.minute))
                .set("in_minute", n(after.in_minute))
                .only_if(free.with("seen", n(before.stored)));
            if self.change(taken).await?.is_some() {
                return Ok(place);
            }
        }
        self.change(counts().add("counted", n(1))).await?;
        Ok(None)
    }
}

fn is_current(kept: &StoredRejection, now: Timestamp) -> bool {
    kept.rejected.at.plus(KEPT_FOR) > now
}

fn item(
    rejected: &RejectedRequest,
    place: u64,
    counted: u64,
    content: Vec<u8>,
) -> Result<(Open, Item)> {
    let open = Open {
        place,
        at: rejected.at,
        reason: rejected.reason,
        body_bytes: rejected.body_bytes,
        is_cut: rejected.is_cut,
        counted,
        expires_at: rejected.at.plus(KEPT_FOR).as_seconds(),
    };
    let mut item = to_item(&open)?;
    item.extend(Key::rejected(&rejected.tenant, rejected.source, place).item());
    item.insert(SEALED.to_owned(), sealed(content));
    Ok((open, item))
}

fn read(
    mut item: Item,
    tenant: &TenantId,
    source: SourceId,
    vault: &Vault,
) -> Result<StoredRejection> {
    let sealed = match item.remove(SEALED) {
        Some(AttributeValue::B(bytes)) => bytes.into_inner(),
        Some(_) | None => return Err(unreadable("a rejected request")),
    };
    let open = Open::of(item)?;
    Ok(StoredRejection {
        id: open.id(),
        rejected: RejectedRequest {
            tenant: tenant.clone(),
            source,
            at: open.at,
            reason: open.reason,
            request: unseal_request(vault, tenant, source, &sealed)?,
            body_bytes: open.body_bytes,
            is_cut: open.is_cut,
        },
    })
}
