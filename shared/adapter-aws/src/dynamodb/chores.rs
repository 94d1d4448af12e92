//! Small markers of work for the poller: a deleted webhook with open rows to end, or a failed one to probe. A marker is written in the same transaction as the change that causes the work. It is deleted when nothing is
//! left to do and nothing more can arrive: a process that read the webhook's state before the change may write a row a
//! little later.

use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::calls::{Condition, Query, Step, Table};
use super::item::{Item, from_item, n, to_item};
use super::keys::{CHORES, Key};
use super::{DynamoStore, flow};
use crate::fault::unreadable;

/// How long after the change rows may still arrive: by then caches of 5 s and leases of about a minute have run out.
pub(super) const SETTLED_AFTER: Millis = Millis::from_seconds(120);

/// Work to do for a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chore {
    /// End its open rows.
    EndDeleted,
    /// It has failed: probe it, if its owner enabled that.
    Test,
}

impl Chore {
    const fn prefix(self) -> &'static str {
        match self {
            Self::EndDeleted => "bury#",
            Self::Test => "test#",
        }
    }

    fn key(self, tenant: &TenantId, webhook: WebhookId) -> Key {
        Key::new(CHORES, format!("{}{tenant}#{webhook}", self.prefix()))
    }

    /// Marks the work, as part of the transaction that causes it.
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

impl DynamoStore {
    /// What else the transaction writes that gives a webhook this status.
    pub(super) fn after_change(
        &self,
        status: WebhookStatus,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<Vec<Step>> {
        let mut steps = vec![self.registering(tenant, webhook, now)];
        match status {
            WebhookStatus::Active => {
                steps.push(Step::Change(flow::resumed(tenant, webhook, now)?));
            }
            WebhookStatus::Failed => steps.extend([
                Step::Change(flow::paused(tenant, webhook)),
                Chore::Test.mark(tenant, webhook, now)?,
            ]),
            WebhookStatus::Paused | WebhookStatus::Disabled => {
                steps.push(Step::Change(flow::paused(tenant, webhook)));
            }
        }
        Ok(steps)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Marker {
    pub(super) chore: Chore,
    pub(super) tenant: TenantId,
    pub(super) webhook: WebhookId,
    pub(super) progress: Progress,
}

/// Since when work has been pending, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) put_at: Timestamp,
    /// The shard being walked.
    #[serde(default)]
    pub(super) shard: u16,
    /// The position in that shard; `None` at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Position>,
    /// Whether this walk met a row that it had to leave.
    #[serde(default)]
    pub(super) left: bool,
}

/// A position in an index that is ordered by acceptance time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    pub(super) pk: String,
    pub(super) sk: String,
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

    /// Whether nothing more can arrive.
    pub(super) fn is_settled(&self, now: Timestamp) -> bool {
        now.since(self.progress.put_at) > SETTLED_AFTER
    }

    /// Holds if it was not marked again since.
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

    /// Starts over.
    pub(super) const fn again(&self) -> Self {
        Self::begin(self.put_at)
    }
}

impl DynamoStore {
    pub(super) async fn markers(&self, chore: Chore) -> Result<Vec<Marker>> {
        let query = Query::prefix(Table::Deliveries, CHORES, chore.prefix());
        let items = self.query_all(query).await?.into_iter();
        items.map(|item| Marker::read(chore, item)).collect()
    }

    /// Stores how far the work has come.
    pub(super) async fn note(&self, marker: &Marker) -> Result<()> {
        let unchanged = Some(marker.unchanged());
        self.put(Table::Deliveries, marker.item()?, unchanged)
            .await?;
        Ok(())
    }

    /// Deletes the marker of finished work.
    pub(super) async fn unmark(&self, marker: &Marker) -> Result<()> {
        let unchanged = Some(marker.unchanged());
        self.remove(Table::Deliveries, &marker.key(), unchanged)
            .await
    }
}
