//! How long an event is stored. It must outlive its rows, and every write of it is billed by the size of its body. Most rows
//! are delivered at once or within a few days, so a new event is stored for as long as such rows are. The first write of a
//! row that needs it for longer prolongs its event, before the row is written.

use postrider_domain::delivery::Delivery;
use postrider_domain::event::Event;
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::event::{OBJECT, OBJECT_EXPIRES_AT};
use super::item::{s, seconds};
use super::keys::Key;
use super::row;

/// How much longer an event is stored than its rows. Rows that change again within this time do not prolong it again.
pub(super) const LONGER: Millis = Millis::from_seconds(7 * 86_400);

impl DynamoStore {
    /// When a new event expires. `waiting` are those of its rows that are not attempted at once.
    pub(super) fn new_event_expires_at<'a>(
        &self,
        event: &Event,
        stored_at: Timestamp,
        waiting: impl Iterator<Item = &'a Delivery>,
    ) -> Timestamp {
        let retention = self.retention_of(&event.tenant, event.created_at);
        let delivered_at_once = stored_at.plus(retention.delivered);
        let waiting = waiting.map(|row| retention.expires_at(row));
        waiting.fold(delivered_at_once, Timestamp::max).plus(LONGER)
    }

    /// Until when a row needs its event and the details of its attempts. A row that will be attempted most likely becomes a
    /// delivered one: if not, the write that says so prolongs the event. One in a backlog may wait for as long as it is
    /// stored.
    pub(super) fn needed_until(&self, row: &Delivery) -> Timestamp {
        let due_at = row
            .next_retry_at
            .filter(|_| row.status.is_open() && !row.in_backlog);
        let retention = self.retention_of(&row.tenant, row.created_at);
        match due_at {
            Some(due_at) => due_at.plus(retention.delivered.max(LONGER)),
            None => retention.expires_at(row),
        }
    }

    /// Replaces a row, after making sure that its event is stored for as long as it needs it. `event_expires_at` is when the event expires as far as
    /// the caller knows; it is read if the caller does not know.
    pub(super) async fn replace_row(
        &self,
        after: &Delivery,
        event_expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Change> {
        let needed_until = self.needed_until(after);
        let (tenant, event) = (&after.tenant, after.id.event);
        self.keep_event(tenant, event, needed_until, event_expires_at, now)
            .await?;
        row::replace(after, self.around(after, now))
    }

    /// Makes sure that an event is stored for as long as a row needs it.
    pub(super) async fn keep_event(
        &self,
        tenant: &TenantId,
        event: EventId,
        needed_until: Timestamp,
        event_expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<()> {
        let expires_at = match event_expires_at {
            Some(expires_at) => Some(expires_at),
            None => {
                let kept = self.kept(tenant, event).await?;
                kept.map(|kept| kept.expires_at)
            }
        };
        if expires_at.is_none_or(|expires_at| expires_at >= needed_until) {
            return Ok(());
        }
        let until = needed_until.plus(LONGER);
        let key = Key::event(tenant, event);
        let object_lasts =
            "(attribute_not_exists(#object_expires_at) OR #object_expires_at >= :until)";
        let change = Change::of(Table::Deliveries, key)
            .set("expires_at", seconds(until))
            .only_if(expires_before(until, object_lasts));
        match self.change(change).await? {
            Some(_) => Ok(()),
            None => self.keep_object(tenant, event, until, now).await,
        }
    }

    /// Prolongs an event whose body is an object that would expire before it: first the object.
    async fn keep_object(
        &self,
        tenant: &TenantId,
        event: EventId,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<()> {
        let kept = self.kept(tenant, event).await?;
        let kept = kept.filter(|kept| kept.expires_at < until);
        let Some(object) = kept.and_then(|kept| kept.object) else {
            return Ok(());
        };
        let renewed = self.bucket()?.renew(&object, self.retention, now).await?;
        let Some(object) = renewed else {
            return Ok(());
        };
        let change = Change::of(Table::Deliveries, Key::event(tenant, event))
            .set("expires_at", seconds(until))
            .set(OBJECT, s(object.key))
            .set(OBJECT_EXPIRES_AT, seconds(object.expires_at))
            .only_if(expires_before(until, "attribute_exists(#object)"));
        self.change(change).await?;
        Ok(())
    }
}

/// Holds if the event exists and expires before `until`.
fn expires_before(until: Timestamp, and: &str) -> Condition {
    let expression = format!("attribute_exists(#pk) AND #expires_at < :until AND {and}");
    Condition::new(&expression).with("until", seconds(until))
}
