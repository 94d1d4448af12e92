//! Small markers of work for the poller: a webhook whose parked rows wait to be released, one whose rows wait to be
//! buried. A marker is put together with the change that makes the work, and goes when nothing is left to do and nothing
//! more can come: what read the webhook's state before the change may write a row a little later.

use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::calls::{Condition, Query, Step, Table};
use super::item::{Item, from_item, n, to_item};
use super::keys::{CHORES, Key};
use super::{DynamoStore, pace};
use crate::fault::unreadable;

/// How long after the change rows may still come: caches of 5 s and leases of about a minute have run out by then.
pub(super) const SETTLED_AFTER: Millis = Millis::from_seconds(120);

/// What is to be done for a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chore {
    /// Its parked rows are to be released.
    Release,
    /// Its open rows are to be buried.
    EndDeleted,
    /// It has failed: it may be tested, if its owner wants that.
    Test,
}

impl Chore {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Release => "release#",
            Self::EndDeleted => "bury#",
            Self::Test => "test#",
        }
    }

    fn key(self, tenant: &TenantId, webhook: WebhookId) -> Key {
        Key::new(CHORES, format!("{}{tenant}#{webhook}", self.prefix()))
    }

    /// Marks it to be done, as part of the transaction that makes the work.
    pub(super) fn mark(
        self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Step> {
        let marker = Marker::new(self, tenant.clone(), webhook, now);
        Ok(Step::Put(Table::Deliveries, marker.item()?, None))
    }
}

/// What the transaction that gives a webhook this status has to mark.
pub(super) fn after_change(
    status: WebhookStatus,
    tenant: &TenantId,
    webhook: WebhookId,
    now: Timestamp,
) -> Result<Vec<Step>> {
    Ok(match status {
        WebhookStatus::Active => vec![
            Chore::Release.mark(tenant, webhook, now)?,
            Step::Change(pace::probing(tenant, webhook, now)),
        ],
        WebhookStatus::Failed => vec![Chore::Test.mark(tenant, webhook, now)?],
        WebhookStatus::Paused | WebhookStatus::Disabled => Vec::new(),
    })
}

/// What the transaction that deletes a webhook has to mark.
pub(super) fn after_deletion(
    tenant: &TenantId,
    webhook: WebhookId,
    now: Timestamp,
) -> Result<[Step; 2]> {
    let released = Chore::Release.mark(tenant, webhook, now)?;
    Ok([released, Chore::EndDeleted.mark(tenant, webhook, now)?])
}

/// Work that was marked.
#[derive(Clone, Debug)]
pub(super) struct Marker {
    /// What is to be done.
    pub(super) chore: Chore,
    /// Whose webhook.
    pub(super) tenant: TenantId,
    /// Which webhook.
    pub(super) webhook: WebhookId,
    /// Since when, and how far it is.
    pub(super) progress: Progress,
}

/// Since when work is to be done, and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// When it was marked.
    pub(super) put_at: Timestamp,
    /// The shard that is walked.
    #[serde(default)]
    pub(super) shard: u16,
    /// Where it is in that shard; none at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Place>,
    /// Whether this walk met a row that it had to leave.
    #[serde(default)]
    pub(super) left: bool,
}

/// An entry of an index by the time of acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// The row's partition.
    pub(super) pk: String,
    /// The row's place in it.
    pub(super) sk: String,
    /// When it was accepted.
    pub(super) created_at: Timestamp,
}

impl Marker {
    fn new(chore: Chore, tenant: TenantId, webhook: WebhookId, now: Timestamp) -> Self {
        Self {
            chore,
            tenant,
            webhook,
            progress: Progress::begin(now),
        }
    }

    fn key(&self) -> Key {
        self.chore.key(&self.tenant, self.webhook)
    }

    fn item(&self) -> Result<Item> {
        let mut item = to_item(&self.progress)?;
        item.extend(self.key().item());
        Ok(item)
    }

    fn read(chore: Chore, item: Item) -> Result<Self> {
        let key = Key::of(&item)?;
        let parts = || {
            let (tenant, webhook) = key.sk.strip_prefix(chore.prefix())?.split_once('#')?;
            Some((tenant.parse().ok()?, webhook.parse().ok()?))
        };
        let (tenant, webhook) = parts().ok_or_else(|| unreadable("a marker"))?;
        Ok(Self {
            chore,
            tenant,
            webhook,
            progress: from_item(item, "a marker")?,
        })
    }

    /// Whether nothing more can come.
    pub(super) fn is_settled(&self, now: Timestamp) -> bool {
        now.since(self.progress.put_at) > SETTLED_AFTER
    }

    /// It was not put again since.
    fn unchanged(&self) -> Condition {
        Condition::new("#put_at = :put_at").with("put_at", n(self.progress.put_at.as_millis()))
    }
}

impl Progress {
    const fn begin(put_at: Timestamp) -> Self {
        Self {
            put_at,
            shard: 0,
            after: None,
            left: false,
        }
    }

    /// From the beginning again.
    pub(super) const fn again(&self) -> Self {
        Self::begin(self.put_at)
    }
}

impl DynamoStore {
    /// Every marker of a kind.
    pub(super) async fn markers(&self, chore: Chore) -> Result<Vec<Marker>> {
        let query = Query::prefix(Table::Deliveries, CHORES, chore.prefix());
        let items = self.query_all(query).await?.into_iter();
        items.map(|item| Marker::read(chore, item)).collect()
    }

    /// Marks work to be done. One that was marked before is marked anew, so that nobody takes it for done meanwhile.
    pub(super) async fn mark(
        &self,
        chore: Chore,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<()> {
        let marker = Marker::new(chore, tenant.clone(), webhook, now);
        self.put(Table::Deliveries, marker.item()?, None).await?;
        Ok(())
    }

    /// Marks a webhook's parked rows to be looked at once.
    pub(super) async fn mark_for_check(
        &self,
        tenant: TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<()> {
        let settled = now.minus(SETTLED_AFTER).minus(Millis::new(1));
        let marker = Marker::new(Chore::Release, tenant, webhook, settled);
        let absent = Condition::new("attribute_not_exists(#pk)");
        self.put(Table::Deliveries, marker.item()?, Some(absent))
            .await?;
        Ok(())
    }

    /// Notes how far the work is.
    pub(super) async fn note(&self, marker: &Marker) -> Result<()> {
        let unchanged = Some(marker.unchanged());
        self.put(Table::Deliveries, marker.item()?, unchanged)
            .await?;
        Ok(())
    }

    /// The work is done.
    pub(super) async fn unmark(&self, marker: &Marker) -> Result<()> {
        let unchanged = Some(marker.unchanged());
        self.remove(Table::Deliveries, &marker.key(), unchanged)
            .await
    }
}
