//! The state of webhooks, in the same table as the rows that depend on it.

use std::collections::{BTreeSet, HashMap};

use postrider_domain::delivery::{DeadCause, Delivery, Status};
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Table};
use super::item::{Item, from_item, n, to_item};
use super::keys::Key;
use super::stream::RowChange;

/// Failures in a row count together for this long.
const COUNTED_FOR: Millis = Millis::from_seconds(60);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Its fields are attributes of the item.
    #[serde(flatten)]
    pub(super) health: Health,
    /// Incremented by each write; changes are conditional on it.
    pub(super) revision: u64,
    /// When it was last written: the time of the resulting notification.
    pub(super) noted_at: Timestamp,
    /// When an operator last changed the settings or secrets, which are in the other table: the stream of this one reports
    /// the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) updated_at: Option<Timestamp>,
    /// When a probe was answered; the publisher then resumes the webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answered_at: Option<Timestamp>,
    /// Failures in a row that were to be retried.
    #[serde(default)]
    pub(super) failed_in_a_row: u32,
    /// When the first of them was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) failing_since: Option<Timestamp>,
    /// The attempts that failed on probation. As a set, because the stream may report one twice.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) failed_probes: BTreeSet<String>,
}

/// A probe that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) tenant: TenantId,
    pub(super) webhook: WebhookId,
    /// The generation of the webhook's state.
    pub(super) generation: u32,
}

impl State {
    pub(super) fn item(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Item> {
        let mut item = to_item(self)?;
        item.extend(Key::state(tenant, webhook).item());
        Ok(item)
    }

    /// Reads an item, or the image in a stream record.
    pub(super) fn of(item: Item) -> Result<Self> {
        from_item(item, "the state of a webhook")
    }

    pub(super) fn changed(&self, health: Health, now: Timestamp) -> Self {
        let failed_probes = if health.on_probation {
            self.failed_probes.clone()
        } else {
            BTreeSet::new()
        };
        Self {
            failed_probes,
            health,
            revision: self.revision.saturating_add(1),
            noted_at: now,
            updated_at: self.updated_at,
            answered_at: None,
            failed_in_a_row: self.failed_in_a_row,
            failing_since: self.failing_since,
        }
    }

    /// The state with the outcome of an attempt added to the failures in a row.
    pub(super) fn counting(&self, row: &RowChange) -> Self {
        let after = &row.after;
        if after.generation < self.health.generation {
            return self.clone();
        }
        if !will_be_retried(after) {
            return Self {
                failed_in_a_row: 0,
                failing_since: None,
                ..self.clone()
            };
        }
        // Older failures say nothing about now, and a webhook may have been limited and opened again since.
        let is_recent = |since: &Timestamp| row.at.since(since.not_after(row.at)) <= COUNTED_FOR;
        match self.failing_since.filter(is_recent) {
            Some(_) => Self {
                failed_in_a_row: self.failed_in_a_row.saturating_add(1),
                ..self.clone()
            },
            None => Self {
                failed_in_a_row: 1,
                failing_since: Some(row.at),
                ..self.clone()
            },
        }
    }

    /// How many failures in a row there were, if all of them came after `opened_at`.
    pub(super) fn failed_in_a_row_since(&self, opened_at: Timestamp) -> u32 {
        let is_later = self.failing_since.is_some_and(|since| since > opened_at);
        if is_later { self.failed_in_a_row } else { 0 }
    }

    /// The state with a record that a probe was answered.
    pub(super) fn answered(&self, now: Timestamp) -> Self {
        Self {
            answered_at: Some(now),
            ..self.changed(self.health.clone(), now)
        }
    }

    /// Holds if no other writer changed it since.
    pub(super) fn unchanged(&self) -> Condition {
        Condition::new("#revision = :revision").with("revision", n(self.revision))
    }
}

/// Whether the row failed in a way that says something about its receiver: the same as `Observed::is_failure`, told by
/// the row.
fn will_be_retried(after: &Delivery) -> bool {
    match after.status {
        Status::Failed => true,
        Status::Dead => matches!(
            after.dead_cause,
            Some(DeadCause::Exhausted | DeadCause::ExhaustedFailingWebhook)
        ),
        Status::Pending | Status::Delivered => false,
    }
}

impl DynamoStore {
    /// The state of one webhook, strongly consistent; `None` if it was deleted.
    pub(super) async fn state(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<State>> {
        let key = Key::state(tenant, webhook);
        let found = self.get(Table::Deliveries, &key).await?;
        found.map(State::of).transpose()
    }

    /// The states of many webhooks; deleted ones are left out.
    pub(super) async fn states(
        &self,
        webhooks: impl IntoIterator<Item = (TenantId, WebhookId)>,
    ) -> Result<HashMap<(TenantId, WebhookId), State>> {
        let mut keys: Vec<_> = webhooks
            .into_iter()
            .map(|(tenant, webhook)| (Table::Deliveries, Key::state(&tenant, webhook)))
            .collect();
        keys.sort_by(|(_, one), (_, other)| one.pk.cmp(&other.pk));
        keys.dedup();
        let mut states = HashMap::with_capacity(keys.len());
        for (_, item) in self.get_all(keys).await? {
            states.insert(Key::of(&item)?.as_webhook()?, State::of(item)?);
        }
        Ok(states)
    }
}
