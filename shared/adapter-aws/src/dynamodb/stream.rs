//! Interprets a record of the table's stream: a row changed, a webhook's state changed, a source sent something, or
//! nothing relevant.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::delivery::Delivery;
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::key_stats::Finished;
use postrider_domain::notification::{
    Notification, effects, event_notification, health_notification, update_notification,
};
use postrider_domain::stats::StatsDelta;
use postrider_domain::time::Timestamp;
use postrider_ports::Result;

use super::event;
use super::item::{Item, instant};
use super::keys::{DELIVERY_PREFIX, EVENT, Key, REFUSED_PREFIX};
use super::rejected::Open;
use super::row;
use super::state::{Passed, State};
use crate::fault::unreadable;

/// An item as the stream shows it.
pub type Image = HashMap<String, AttributeValue>;

/// One change to an item, as the stream reports it.
#[derive(Clone, Debug)]
pub struct Record {
    /// Identifies the change; the same when it is reported again.
    pub id: String,
    /// `None` when the item is new.
    pub before: Option<Image>,
    /// `None` when the item was deleted.
    pub after: Option<Image>,
    /// When the stream recorded it.
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Row(Box<RowChange>),
    State(Box<StateChange>),
    /// A source sent something.
    Inbound(Box<Notification>),
    /// Nothing relevant.
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowChange {
    pub(super) before: Delivery,
    pub(super) after: Delivery,
    pub(super) at: Timestamp,
    /// The length of the event's body, if this is the end of the first attempt of its first row.
    pub(super) published_bytes: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct StateChange {
    tenant: TenantId,
    webhook: WebhookId,
    before: Health,
    after: Health,
    at: Timestamp,
    /// When the settings or secrets were changed, if this change did so.
    updated_at: Option<Timestamp>,
    answered_at: Option<Timestamp>,
}

impl Record {
    /// Whether its items can be decoded.
    ///
    /// # Errors
    /// If not; they never will be.
    pub fn check(&self) -> Result<()> {
        Change::of(self.clone()).map(drop)
    }

    /// The delivery that this change finished, for the key stats.
    #[must_use]
    pub fn finished(&self) -> Option<Finished> {
        let change = Change::of(self.clone()).ok()?;
        let row = change.row()?;
        Finished::of_change(&row.before, &row.after, row.at)
    }
}

impl Change {
    pub(super) fn of(record: Record) -> Result<Self> {
        let Some(image) = record.after.as_ref().or(record.before.as_ref()) else {
            return Ok(Self::Nothing);
        };
        let key = Key::of(image)?;
        if key.sk == EVENT || key.sk.starts_with(REFUSED_PREFIX) {
            let notification = sent(&key, record)?;
            return Ok(notification.map_or(Self::Nothing, |notification| {
                Self::Inbound(Box::new(notification))
            }));
        }
        let Some(before) = record.before else {
            return Ok(Self::Nothing);
        };
        if key.sk.starts_with(DELIVERY_PREFIX) {
            return Self::of_row(before, record.after, record.at);
        }
        match record.after {
            Some(after) if key.sk == "state" => Self::of_state(&key, before, after),
            Some(_) | None => Ok(Self::Nothing),
        }
    }

    fn of_row(before: Item, after: Option<Item>, heard_at: Timestamp) -> Result<Self> {
        let bytes = before.get(row::PUBLISHED_BYTES);
        let bytes = bytes.and_then(|bytes| bytes.as_n().ok()?.parse().ok());
        let before = row::delivery(before)?;
        let changed_at = after.as_ref().and_then(|item| instant(item, "changed_at"));
        let after = after.map(row::delivery).transpose()?;
        // An expired row may be put again before it was deleted: the old one is gone all the same.
        let after = after.filter(|after| after.created_at == before.created_at);
        let (after, at) = match after {
            Some(after) => (after, changed_at.ok_or_else(|| unreadable("changed_at"))?),
            None if before.status.is_open() => (before.expired(), heard_at),
            None => return Ok(Self::Nothing),
        };
        let is_first_attempt = before.attempts_total == 0 && after.attempts_total > 0;
        Ok(Self::Row(Box::new(RowChange {
            before,
            after,
            at,
            published_bytes: bytes.filter(|_| is_first_attempt),
        })))
    }

    fn of_state(key: &Key, before: Item, after: Item) -> Result<Self> {
        let (tenant, webhook) = key.as_webhook()?;
        let (before, after) = (State::of(before)?, State::of(after)?);
        Ok(Self::State(Box::new(StateChange {
            tenant,
            webhook,
            before: before.health,
            updated_at: after
                .updated_at
                .filter(|_| after.updated_at != before.updated_at),
            answered_at: after.answered_at,
            after: after.health,
            at: after.noted_at,
        })))
    }

    /// The notifications about this change. Webhooks are reported only from the records of their states: a crash
    /// between storing a state and publishing the notification loses nothing, because the stream still has the record.
    pub(super) fn notifications(&self) -> Vec<Notification> {
        match self {
            Self::Row(row) => row.effects_on(&Health::default()).notifications,
            Self::State(state) => {
                let StateChange {
                    tenant,
                    webhook,
                    before,
                    after,
                    at,
                    updated_at,
                    answered_at: _,
                } = &**state;
                let update = |updated_at| update_notification(tenant, *webhook, after, updated_at);
                health_notification(tenant, *webhook, before, after, *at)
                    .into_iter()
                    .chain(updated_at.map(update))
                    .collect()
            }
            Self::Inbound(notification) => vec![(**notification).clone()],
            Self::Nothing => Vec::new(),
        }
    }

    /// The answered probe that it reports, if any.
    pub(super) fn passed_probe(&self) -> Option<Passed> {
        match self {
            Self::State(state) => state.answered_at.map(|_| Passed {
                tenant: state.tenant.clone(),
                webhook: state.webhook,
                generation: state.after.generation,
            }),
            Self::Row(_) | Self::Inbound(_) | Self::Nothing => None,
        }
    }

    pub(super) const fn row(&self) -> Option<&RowChange> {
        match self {
            Self::Row(row) => Some(row),
            Self::State(_) | Self::Inbound(_) | Self::Nothing => None,
        }
    }
}

impl RowChange {
    pub(super) fn webhook(&self) -> (TenantId, WebhookId) {
        (self.after.tenant.clone(), self.after.id.webhook)
    }

    pub(super) fn counted(&self) -> Option<StatsDelta> {
        StatsDelta::of_change(&self.before, &self.after, self.at)
    }

    /// Whether it affects the webhook's health.
    pub(super) fn was_attempted(&self) -> bool {
        self.after.attempts_total > self.before.attempts_total
    }

    /// Everything that follows for a webhook in this state.
    pub(super) fn effects_on(&self, health: &Health) -> postrider_domain::notification::Effects {
        effects(&self.before, &self.after, health, self.at)
    }
}

/// The notification about a new event or rejected request; a new one may replace one that has expired.
fn sent(key: &Key, record: Record) -> Result<Option<Notification>> {
    let Some(after) = record.after else {
        return Ok(None);
    };
    let created_at = |item: &Item| instant(item, "created_at").or_else(|| instant(item, "at"));
    if record.before.as_ref().and_then(created_at) == created_at(&after) {
        return Ok(None);
    }
    if key.sk == EVENT {
        if event::is_adopted(&after) {
            return Ok(None);
        }
        let (tenant, id) = key.as_event()?;
        let kept = event::read(after, &tenant, id)?;
        return Ok(event_notification(&kept.about, kept.deliveries()));
    }
    let (tenant, source) = key.as_source()?;
    Ok(Open::of(after)?.notification(&tenant, source))
}
