//! Uses ids of one tenant under another: they find nothing there and change nothing.

use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::configs::{Changed, WebhookChange};
use postrider_ports::deliveries::{Applied, Claim, Renewed, Seen, Wanted};
use postrider_ports::drains::Postponed;
use postrider_ports::erasures::EventErased;
use postrider_ports::interventions::{Added, Requeued};
use postrider_ports::schedule::Ask;
use proptest::prelude::*;

use super::command::Ending;
use super::{Model, Tenancy};
use crate::builders;

impl Model<'_> {
    /// Their ids, under our tenant.
    pub(super) async fn confuse(&mut self, n: usize) -> Result<(), TestCaseError> {
        let Some(id) = self.theirs.row_at(n) else {
            return Ok(());
        };
        self.confuse_row(id).await?;
        self.confuse_claim(id).await?;
        self.confuse_event(id).await?;
        self.confuse_webhook(id).await
    }

    async fn confuse_row(&mut self, id: DeliveryId) -> Result<(), TestCaseError> {
        let seen = Seen::default();
        let [first, second] = [self.wanted(id), self.wanted(id)].map(|it| Wanted { seen, ..it });
        let (store, us, now) = (self.store(), &self.ours.tenant, self.now);
        prop_assert_eq!(store.delivery(us, id).await, Ok(None));
        prop_assert_eq!(store.attempts(us, id).await, Ok(Vec::new()));
        for claims in [
            store.claim(vec![first], now).await,
            store.claim_from_backlog(vec![second], now).await,
        ] {
            let is_missing = matches!(claims.as_slice(), [Ok(Claim::Missing)]);
            prop_assert!(is_missing, "{:?}", claims);
        }
        let requeued = store.requeue(us, id, Force::Delivered, now).await;
        prop_assert_eq!(requeued, Ok(Requeued::Missing));
        let theirs = &self.theirs.rows[&id];
        let postponed = Postponed {
            tenant: us.clone(),
            id,
            kind: AttemptKind::of(theirs),
            next_retry_at: theirs.next_retry_at.unwrap_or(theirs.created_at),
        };
        let moved = store.move_to_backlog(vec![postponed], now).await;
        prop_assert_eq!(moved, vec![Ok(())]);
        Ok(())
    }

    /// Their claim, as if we had made it.
    async fn confuse_claim(&mut self, id: DeliveryId) -> Result<(), TestCaseError> {
        let held = self.theirs.claims.iter().rev();
        let mut held = held.map(|(claimed, wanted)| (claimed.delivery(), &wanted.lease));
        let Some((row, lease)) = held.find(|(row, _)| row.id == id) else {
            return Ok(());
        };
        let forged = Delivery {
            tenant: self.ours.tenant.clone(),
            ..row.clone()
        };
        let forged = forged.claim_from_backlog(lease, self.now).unwrap();
        let transition = Ending::Deliver.transition(self.now);
        let completion = builders::completion(&forged, transition, self.now);
        let store = self.store();
        let renewed = store.renew(&forged, self.now.plus(super::LEASE)).await;
        prop_assert_eq!(renewed, Ok(Renewed::Lost));
        prop_assert_eq!(store.give_back(&forged, self.now).await, Ok(()));
        let applied = store.apply(&forged, completion, self.now).await;
        prop_assert_eq!(applied, Ok(Applied::Stale));
        Ok(())
    }

    async fn confuse_event(&mut self, id: DeliveryId) -> Result<(), TestCaseError> {
        let event = &self.theirs.events[&id.event].event;
        let (store, us, now) = (self.store(), &self.ours.tenant, self.now);
        // We may have an event with the same id.
        if self.ours.events.contains_key(&id.event) {
            return Ok(());
        }
        prop_assert_eq!(store.event(us, id.event).await, Ok(None));
        prop_assert_eq!(store.rows_of(us, id.event).await, Ok(Vec::new()));
        prop_assert_eq!(store.erased_at(us, id.event).await, Ok(None));
        let erased = store.erase_event(us, id.event, now).await;
        prop_assert_eq!(erased, Ok(EventErased::Missing));
        let row = Delivery {
            tenant: us.clone(),
            ..builders::row(event, id.webhook)
        };
        prop_assert_eq!(store.add_delivery(row).await, Ok(Added::EventMissing));
        Ok(())
    }

    async fn confuse_webhook(&mut self, id: DeliveryId) -> Result<(), TestCaseError> {
        let (store, us, now) = (self.store(), &self.ours.tenant, self.now);
        let Tenancy { webhooks, .. } = &self.theirs;
        prop_assert_eq!(store.webhook(us, id.webhook).await, Ok(None));
        let paused = WebhookStatus::Paused;
        let set = store.set_webhook_status(us, id.webhook, paused, now);
        prop_assert_eq!(set.await, Ok(None));
        if let Some(webhook) = &webhooks[&id.webhook] {
            let change = WebhookChange {
                seen: webhook.updated_at,
                settings: webhook.settings.clone(),
                secrets: webhook.secrets.clone(),
                updated_at: webhook.updated_at.plus(Millis::new(1)),
            };
            let changed = store.change_webhook(us, id.webhook, change).await;
            prop_assert_eq!(changed, Ok(Changed::Missing));
        }
        let deleted = store.delete_webhook(us, id.webhook, now).await;
        prop_assert_eq!(deleted, Ok(false));
        let (from, to) = (Timestamp::ZERO, now.plus(Millis::from_seconds(3_600)));
        let stats = store.stats(us, Some(id.webhook), from, to).await;
        prop_assert_eq!(stats, Ok(Vec::new()));
        if let Some(embedded) = self.handle().embedded.clone() {
            let asks = [AttemptKind::First, AttemptKind::Retry].map(|kind| Ask::all(kind, 10));
            let due = embedded.due(us, id.webhook, &asks, now).await.unwrap();
            prop_assert!(
                due.iter()
                    .all(|due| due.rows.is_empty() && due.next_at.is_none())
            );
        }
        Ok(())
    }
}
