//! The state of webhooks, beside the rows that depend on it.

use std::collections::HashMap;

use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Condition, Table};
use super::item::{Item, from_item, n, s, to_item};
use super::keys::Key;
use crate::fault::unreadable;

/// A webhook's state as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The state itself, its fields as attributes.
    #[serde(flatten)]
    pub(super) health: Health,
    /// Raised by each write: what a change was made from.
    pub(super) revision: u64,
    /// When it was written last: the time of what the change announces.
    pub(super) noted_at: Timestamp,
    /// When a test of it was answered; whoever hears of that resumes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answered_at: Option<Timestamp>,
}

/// A test that was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// Whose webhook.
    pub(super) tenant: TenantId,
    /// Which webhook.
    pub(super) webhook: WebhookId,
    /// In which generation of its state.
    pub(super) generation: u32,
}

impl State {
    /// The item.
    pub(super) fn item(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Item> {
        let mut item = to_item(self)?;
        item.extend(Key::state(tenant, webhook).item());
        Ok(item)
    }

    /// What an item says; also the image in a stream's record.
    pub(super) fn of(item: Item) -> Result<Self> {
        from_item(item, "the state of a webhook")
    }

    /// The state after a change.
    pub(super) fn changed(&self, health: Health, now: Timestamp) -> Self {
        Self {
            health,
            revision: self.revision.saturating_add(1),
            noted_at: now,
            answered_at: None,
        }
    }

    /// The state with the note that a test was answered.
    pub(super) fn answered(&self, now: Timestamp) -> Self {
        Self {
            answered_at: Some(now),
            ..self.changed(self.health.clone(), now)
        }
    }

    /// Nobody changed it since.
    pub(super) fn unchanged(&self) -> Condition {
        Condition::new("#revision = :revision").with("revision", n(self.revision))
    }
}

/// The version of a tenant's webhooks that its item holds.
pub(super) fn version_of(item: &Item) -> Result<u64> {
    let number = item.get("version").and_then(|version| version.as_n().ok());
    let version = number.and_then(|number| number.parse().ok());
    version.ok_or_else(|| unreadable("the version of the webhooks"))
}

/// The webhook is there and still lets its rows wait.
pub(super) fn still_parks() -> Condition {
    Condition::new("attribute_exists(#pk) AND #status <> :active")
        .with("active", s(WebhookStatus::Active.as_str()))
}

impl DynamoStore {
    /// The state of one webhook, strongly consistent; none when it was deleted.
    pub(super) async fn state(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<State>> {
        let key = Key::state(tenant, webhook);
        let found = self.get(Table::Deliveries, &key).await?;
        found.map(State::of).transpose()
    }

    /// The states of many webhooks; one that was deleted is left out.
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
