//! Erases events, and removes what has passed its retention.

use std::collections::BTreeSet;

use postrider_domain::delivery::Delivery;
use postrider_domain::event::Event;
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::retention::Retention;
use postrider_domain::stats::KEPT_FOR;
use postrider_domain::time::Millis;
use postrider_ports::EmbeddedStore;
use postrider_ports::erasures::EventErased;
use proptest::prelude::*;

use super::tenancy::EventState;
use super::{DAY, Model};

impl Model<'_> {
    pub(super) async fn erase(&mut self, event: usize) -> Result<(), TestCaseError> {
        let Some(id) = self.ours.event_at(event) else {
            return Ok(());
        };
        let state = self.ours.events[&id].state;
        let expected = if state == EventState::Removed {
            EventErased::Missing
        } else {
            self.erase_rows(id, state)
        };
        let tenant = &self.ours.tenant;
        let erase = async || self.store().erase_event(tenant, id, self.now).await;
        prop_assert_eq!(self.call(erase).await.said, Ok(expected));
        Ok(())
    }

    fn erase_rows(&mut self, id: EventId, state: EventState) -> EventErased {
        let rows = self.ours.rows_of(id);
        let at = state.erased_at().unwrap_or(self.now);
        let (deliveries, mut in_flight) = (rows.len() as u64, false);
        for row in rows {
            let row = self.row(row.id).unwrap();
            if row.is_held(self.now) {
                in_flight = true;
            } else if !row.is_erased() {
                self.ours.change(&row.erased(), self.now);
            }
        }
        let state = if in_flight {
            EventState::Erasing(at)
        } else {
            self.erase_texts(id);
            EventState::Erased(at)
        };
        if let Some(event) = self.ours.events.get_mut(&id) {
            event.state = state;
        }
        if in_flight {
            EventErased::InFlight
        } else {
            EventErased::Done { deliveries }
        }
    }

    fn erase_texts(&mut self, id: EventId) {
        let attempts = self.ours.attempts.iter_mut();
        for (_, attempts) in attempts.filter(|(row, _)| row.event == id) {
            for attempt in attempts {
                attempt.error = None;
                attempt.response_body = None;
            }
        }
    }

    /// On AWS the table does it. The walk through the rows looks again at those that it left only after an hour, and each
    /// process walks on its own; after days it begins again.
    pub(super) async fn expire(&mut self, days: u64, limit: usize) -> Result<(), TestCaseError> {
        let Some(embedded) = self.handle().embedded.clone() else {
            return Ok(());
        };
        self.now = self.now.plus(Millis::new(days * DAY.get()));
        let mut removed = Vec::new();
        for _ in 0..2 {
            removed.extend(self.remove_expired());
            self.turn_to_other_tenant();
        }
        self.expire_all(&*embedded, limit).await?;
        for (tenant, row) in removed {
            let stored = embedded.delivery(&tenant, row.id).await;
            prop_assert_eq!(stored, Ok(None));
            let attempts = embedded.attempts(&tenant, row.id).await;
            prop_assert_eq!(attempts, Ok(Vec::new()));
        }
        Ok(())
    }

    async fn expire_all(
        &self,
        store: &dyn EmbeddedStore,
        limit: usize,
    ) -> Result<(), TestCaseError> {
        let expire = async || store.expire(Retention::default(), limit, self.now).await;
        loop {
            let slice = self.call(expire).await.said;
            let slice = slice.map_err(|error| TestCaseError::fail(error.to_string()))?;
            if !slice.more {
                return Ok(());
            }
        }
    }

    fn remove_expired(&mut self) -> Vec<(TenantId, Delivery)> {
        let (now, retention) = (self.now, Retention::default());
        let is_over = |row: &Delivery| retention.expires_at(row) <= now && !row.is_held(now);
        let ids: Vec<_> = self.ours.rows.keys().copied().collect();
        let rows = ids.into_iter().filter_map(|id| self.row(id));
        let removed: Vec<_> = rows.filter(is_over).collect();
        for row in &removed {
            if row.status.is_open() {
                self.ours.follow(row, &row.expired(), now);
            }
            self.ours.rows.remove(&row.id);
            self.ours.attempts.remove(&row.id);
        }
        let has_rows: BTreeSet<_> = self.ours.rows.keys().map(|id| id.event).collect();
        let is_old = |event: &Event| event.created_at.plus(retention.delivered) <= now;
        for (id, published) in &mut self.ours.events {
            if !has_rows.contains(id) && is_old(&published.event) {
                published.state = EventState::Removed;
            }
        }
        let kept_from = now.minus(KEPT_FOR);
        self.ours.counters.retain(|(_, hour), _| *hour >= kept_from);
        let of_tenant = |row| (self.ours.tenant.clone(), row);
        removed.into_iter().map(of_tenant).collect()
    }
}
