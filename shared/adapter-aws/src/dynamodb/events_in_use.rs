//! Events that attempts of this process use. Deliveries of one event that are attempted at the same time share one read of
//! it, and one copy of its body. Nothing is cached: once the last of them has dropped its event, the next one reads it again.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use postrider_domain::event::Event;
use postrider_domain::ids::{EventId, TenantId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use tokio::sync::Mutex as AsyncMutex;

use super::DynamoStore;

/// An event with its body.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) event: Arc<Event>,
    pub(super) expires_at: Timestamp,
}

#[derive(Default)]
pub(super) struct EventsInUse(parking_lot::Mutex<HashMap<(TenantId, EventId), Arc<Slot>>>);

/// Locked while its event is read, so that others wait for it and do not read it themselves.
type Slot = AsyncMutex<Option<InUse>>;

struct InUse {
    event: Weak<Event>,
    expires_at: Timestamp,
}

impl InUse {
    /// The event, unless it was dropped or has expired: an expired event may have been replaced by another with its id.
    fn at(&self, now: Timestamp) -> Option<Loaded> {
        let event = self.event.upgrade().filter(|_| now < self.expires_at)?;
        Some(Loaded {
            event,
            expires_at: self.expires_at,
        })
    }
}

impl EventsInUse {
    /// The slot of an event. Slots that are no longer used are removed, so there is at most one per attempt under way.
    fn slot(&self, tenant: &TenantId, id: EventId) -> Arc<Slot> {
        let mut slots = self.0.lock();
        slots.retain(|_, slot| is_used(slot));
        Arc::clone(slots.entry((tenant.clone(), id)).or_default())
    }
}

fn is_used(slot: &Arc<Slot>) -> bool {
    let is_alive = |in_use: &Option<InUse>| {
        let event = in_use.as_ref().map(|in_use| &in_use.event);
        event.is_some_and(|event| event.strong_count() > 0)
    };
    // Another owner reads the event, or is about to.
    Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|in_use| is_alive(&in_use))
}

impl DynamoStore {
    /// The event with its body, shared with other attempts; `None` if it or its body is gone.
    pub(super) async fn load_event(
        &self,
        tenant: &TenantId,
        id: EventId,
        now: Timestamp,
    ) -> Result<Option<Loaded>> {
        let slot = self.events_in_use.slot(tenant, id);
        let mut in_use = slot.lock().await;
        if let Some(loaded) = in_use.as_ref().and_then(|in_use| in_use.at(now)) {
            return Ok(Some(loaded));
        }
        let Some(kept) = self.kept(tenant, id).await? else {
            return Ok(None);
        };
        let expires_at = kept.expires_at;
        let Some(event) = self.with_body(kept).await? else {
            return Ok(None);
        };
        *in_use = Some(InUse {
            event: Arc::downgrade(&event),
            expires_at,
        });
        Ok(Some(Loaded { event, expires_at }))
    }
}

#[cfg(test)]
mod tests {
    use postrider_testkit::builders::{NOW, after, event};

    use super::*;

    async fn put(events: &EventsInUse, event: &Arc<Event>) {
        let slot = events.slot(&event.tenant, event.id);
        *slot.lock().await = Some(InUse {
            event: Arc::downgrade(event),
            expires_at: after(60),
        });
    }

    async fn shared(events: &EventsInUse, event: &Event, now: Timestamp) -> bool {
        let slot = events.slot(&event.tenant, event.id);
        let in_use = slot.lock().await;
        in_use
            .as_ref()
            .is_some_and(|in_use| in_use.at(now).is_some())
    }

    #[tokio::test]
    async fn an_event_is_shared_while_it_is_used_and_until_it_expires() {
        let events = EventsInUse::default();
        let used = Arc::new(event(&TenantId::default(), 1, NOW));
        put(&events, &used).await;
        assert!(shared(&events, &used, after(59)).await);
        assert!(!shared(&events, &used, after(60)).await);
        let dropped = Event::clone(&used);
        drop(used);
        assert!(!shared(&events, &dropped, NOW).await);
    }

    #[tokio::test]
    async fn slots_are_removed_with_their_events() {
        let events = EventsInUse::default();
        let used = Arc::new(event(&TenantId::default(), 1, NOW));
        put(&events, &used).await;
        for n in 2..100 {
            put(&events, &Arc::new(event(&TenantId::default(), n, NOW))).await;
        }
        assert_eq!(events.0.lock().len(), 2, "the used one and the last one");
        assert!(shared(&events, &used, NOW).await);
    }
}
