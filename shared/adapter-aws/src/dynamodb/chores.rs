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
use super::registrations::registering;
use super::{DynamoStore, flow};
use crate::fault::{readable_only, unreadable};

/// How long after the change rows may still arrive and appear in the index: a function runs for up to a minute, and an
/// index may lag by minutes.
pub(super) const SETTLED_AFTER: Millis = Millis::from_seconds(600);
/// How long a walk waits at most.
const LONGEST_WAIT: Millis = SETTLED_AFTER.plus(Millis::new(1));

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

/// What else the transaction writes that gives a webhook this status.
pub(super) fn after_change(
    status: WebhookStatus,
    tenant: &TenantId,
    webhook: WebhookId,
    now: Timestamp,
) -> Result<Vec<Step>> {
    let mut steps = vec![registering(tenant, webhook, now)];
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
    /// When this walk began; `None` if it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun_at: Option<Timestamp>,
    /// This walk does not begin earlier.
    #[serde(default)]
    not_before: Timestamp,
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
            begun_at: None,
            not_before: Timestamp::ZERO,
        }
    }

    /// Begins the walk or goes on with it, unless it is too early.
    pub(super) fn is_under_way(&mut self, now: Timestamp) -> bool {
        if self.begun_at.is_none() && self.not_before.is_due(now, LONGEST_WAIT) {
            self.begun_at = Some(now);
        }
        self.begun_at.is_some()
    }

    /// Whether the walk has seen everything: it left nothing, and began when nothing more could arrive.
    pub(super) fn is_done(&self) -> bool {
        let is_settled = |begun_at: Timestamp| begun_at.since(self.put_at) > SETTLED_AFTER;
        !self.left && self.begun_at.is_some_and(is_settled)
    }

    /// Another walk: at once if this one left a row, otherwise when nothing more can arrive.
    pub(super) fn again(&self, now: Timestamp) -> Self {
        let not_before = if self.left {
            now
        } else {
            self.put_at.not_after(now).plus(LONGEST_WAIT)
        };
        Self {
            not_before,
            ..Self::begin(self.put_at)
        }
    }
}

impl DynamoStore {
    pub(super) async fn markers(&self, chore: Chore) -> Result<Vec<Marker>> {
        let query = Query::prefix(Table::Deliveries, CHORES, chore.prefix());
        let items = self.query_all(query).await?.into_iter();
        readable_only(items.map(|item| Marker::read(chore, item)))
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn after(seconds: u64) -> Timestamp {
        NOW.plus(Millis::from_seconds(seconds))
    }

    #[test]
    fn the_last_walk_begins_when_nothing_more_can_arrive() {
        let mut first = Progress::begin(NOW);
        assert!(first.is_under_way(NOW));
        assert!(first.is_under_way(after(700)), "a walk may take long");
        assert!(!first.is_done(), "it began too early");
        let mut last = first.again(after(700));
        assert!(last.is_under_way(after(701)) && last.is_done());
    }

    #[test]
    fn a_walk_that_found_nothing_is_repeated_once_and_one_that_left_a_row_at_once() {
        let mut walk = Progress::begin(NOW);
        assert!(walk.is_under_way(NOW));
        assert!(!walk.again(after(1)).is_under_way(after(600)));
        assert!(walk.again(after(1)).is_under_way(after(601)));
        walk.left = true;
        assert!(walk.again(after(1)).is_under_way(after(1)));
    }

    #[test]
    fn a_walk_that_a_clock_that_ran_ahead_has_planned_begins_at_once() {
        let mut walk = Progress::begin(NOW);
        walk.left = true;
        assert!(walk.again(after(86_400)).is_under_way(after(1)));
    }
}
