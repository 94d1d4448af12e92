//! Accepts events, also repeatedly, and adds rows to them.

use std::sync::Arc;

use postrider_domain::delivery::{Claimed, Delivery, Lease};
use postrider_domain::event::{Event, Origin, RequestHash};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::notification::event_notification;
use postrider_ports::deliveries::{Acceptance, Accepted};
use postrider_ports::interventions::Added;
use postrider_ports::start_now::{Planned, Reservation};
use proptest::prelude::*;

use super::Model;
use super::command::{Plan, Request};
use super::tenancy::{EventState, Published};
use crate::builders;

impl Model {
    pub(super) async fn accept(
        &mut self,
        webhooks: u8,
        claim: bool,
        plan: Plan,
    ) -> Result<(), TestCaseError> {
        // The same ids under both tenants.
        let n = u32::try_from(self.ours.events.len() + 1).unwrap();
        let mut event = builders::event(&self.ours.tenant, n, self.now);
        let is_inbound = n.is_multiple_of(4);
        if is_inbound {
            event.origin = Origin::Source(builders::source_id(1));
        }
        let there = self.ours.webhooks.iter().enumerate();
        let named = there
            .filter(|(n, (_, webhook))| webhooks & (1 << n) != 0 && webhook.is_some())
            .map(|(_, (id, _))| *id);
        let named: Vec<_> = named.collect();
        let version = self.look_at_version().await?;
        let mut acceptance = builders::acceptance(event, &named, version);
        if is_inbound {
            acceptance.request_hash = RequestHash::of_id(acceptance.event.id);
        }
        match plan {
            Plan::Current => self.accept_new(acceptance, claim).await,
            Plan::Outdated => {
                acceptance.config_version -= 1;
                let accepted = self.send(acceptance, claim).await;
                prop_assert_eq!(accepted, Ok((Accepted::Outdated, Vec::new())));
                Ok(())
            }
        }
    }

    async fn accept_new(
        &mut self,
        acceptance: Acceptance,
        claim: bool,
    ) -> Result<(), TestCaseError> {
        let event = Arc::clone(&acceptance.event);
        let plan: Vec<_> = acceptance.rows.iter().map(|row| row.id.webhook).collect();
        let hash = acceptance.request_hash;
        let sent = self.send(acceptance.clone(), claim).await;
        let Ok((accepted, claimed)) = sent else {
            return Err(TestCaseError::fail(format!("{sent:?}")));
        };
        prop_assert_eq!(accepted, Accepted::New);
        for row in acceptance.rows {
            self.ours.rows.insert(row.id, row);
        }
        // The rows of active webhooks start. Their leases are checked one by one below.
        let may_start = |webhook: &WebhookId| {
            let status = self.ours.status_of(*webhook);
            claim && status.is_some_and(|status| !status.is_stopped())
        };
        let is_embedded = self.handle().embedded.is_some();
        let expected = plan.iter().filter(|id| is_embedded && may_start(id));
        let started = claimed.iter().map(|claimed| claimed.delivery().id.webhook);
        prop_assert!(started.eq(expected.copied()), "{:?}", claimed);
        for claimed in claimed {
            self.note_start(claimed)?;
        }
        if let Some(first) = plan.first() {
            let counter = self.ours.counter(*first, event.created_at);
            counter.publish(event.body.len() as u64);
        }
        let notification = event_notification(&event, plan.len());
        self.ours.told.extend(notification);
        let published = Published {
            request_hash: hash,
            plan,
            state: EventState::Stored,
            event,
        };
        self.ours.events.insert(published.event.id, published);
        Ok(())
    }

    /// A row that was stored claimed is as if it had been claimed at once.
    fn note_start(&mut self, claimed: Claimed) -> Result<(), TestCaseError> {
        let lease = Lease {
            owner: claimed.owner().clone(),
            until: claimed.delivery().lease_until,
        };
        let id = claimed.delivery().id;
        prop_assert_eq!(lease.until, self.now.plus(super::LEASE));
        prop_assert_eq!(&lease.owner.process, &self.handle().process);
        let free = self.ours.rows[&id].clone();
        let expected = free.claim(&lease, self.now);
        prop_assert_eq!(expected.as_ref(), Ok(&claimed));
        let wanted = self.wanted_under(id, lease);
        self.ours.rows.insert(id, claimed.delivery().clone());
        self.ours.claims.push((claimed, wanted));
        Ok(())
    }

    /// Sends a request to the store. One that may start its deliveries has a reservation for each row.
    async fn send(
        &mut self,
        acceptance: Acceptance,
        claim: bool,
    ) -> postrider_ports::Result<(Accepted, Vec<Claimed>)> {
        let embedded = self.handle().embedded.clone().filter(|_| claim);
        let Some(store) = embedded else {
            let accepted = self.store().accept(vec![acceptance]).await.remove(0);
            return accepted.map(|accepted| (accepted, Vec::new()));
        };
        let reserved = acceptance.rows.iter().map(|row| Reservation {
            webhook: row.id.webhook,
            lease: self.lease(),
        });
        let planned = Planned {
            reserved: reserved.collect(),
            acceptance,
        };
        let (accepted, claimed) = store.accept_claimed(vec![planned]).await.remove(0)?;
        let claimed = claimed.into_iter().map(|one| one.claimed);
        Ok((accepted, claimed.collect()))
    }

    pub(super) async fn repeat(
        &mut self,
        event: usize,
        request: Request,
        claim: bool,
        plan: Plan,
    ) -> Result<(), TestCaseError> {
        let Some(id) = self.ours.event_at(event) else {
            return Ok(());
        };
        let published = self.ours.events[&id].clone();
        let version = self.look_at_version().await?;
        let Published {
            event, plan: of, ..
        } = published.clone();
        let event = Event::clone(&event);
        let mut acceptance = builders::acceptance(event, &of, version);
        acceptance.request_hash = published.request_hash;
        if published.state == EventState::Removed {
            let exists = |row: &Delivery| self.ours.status_of(row.id.webhook).is_some();
            acceptance.rows.retain(exists);
            return self.accept_new(acceptance, claim).await;
        }
        if request == Request::Another {
            acceptance.request_hash = RequestHash([7; 32]);
        }
        if plan == Plan::Outdated {
            acceptance.config_version -= 1;
        }
        // Of an erased event nothing is known that a request could be compared with, except that of a source.
        let is_erased = published.state.erased_at().is_some();
        let stored = if is_erased {
            RequestHash::of_id(id)
        } else {
            published.request_hash
        };
        let is_same = acceptance.request_hash == stored;
        let sent = self.send(acceptance, claim).await;
        match sent {
            Ok((Accepted::Conflict, claimed)) if !is_same => prop_assert_eq!(claimed, []),
            Ok((
                Accepted::Duplicate {
                    event,
                    deliveries,
                    completed,
                },
                claimed,
            )) if is_same => {
                prop_assert_eq!(event, id);
                prop_assert_eq!((completed, claimed), (Vec::new(), Vec::new()));
                let stored = |id: &DeliveryId| self.ours.rows.contains_key(id);
                prop_assert!(deliveries.iter().all(stored), "{:?}", deliveries);
                // A store may forget what an erased event was planned for, and rows that were added later are not part of a plan.
                let is_planned = |row: &&DeliveryId| row.event == id && of.contains(&row.webhook);
                let planned = self.ours.rows.keys().filter(is_planned);
                let mut planned = planned.filter(|_| !is_erased);
                prop_assert!(
                    planned.all(|id| deliveries.contains(id)),
                    "{:?}",
                    deliveries
                );
            }
            other => {
                return Err(TestCaseError::fail(format!(
                    "{other:?} of {:?}",
                    published.state
                )));
            }
        }
        Ok(())
    }

    pub(super) async fn add(&mut self, event: usize, webhook: usize) -> Result<(), TestCaseError> {
        let Some(event) = self.ours.event_at(event) else {
            return Ok(());
        };
        let webhook = self.ours.webhook_at(webhook);
        // The caller has looked it up.
        if self.ours.status_of(webhook).is_none() {
            return Ok(());
        }
        let published = &self.ours.events[&event];
        let row = Delivery {
            created_at: self.now,
            next_retry_at: Some(self.now),
            ..builders::row(&published.event, webhook)
        };
        let expected = match published.state {
            EventState::Erasing(_) | EventState::Erased(_) | EventState::Removed => {
                Added::EventMissing
            }
            EventState::Stored if self.ours.rows.contains_key(&row.id) => Added::Exists,
            EventState::Stored => Added::Done,
        };
        if expected == Added::Done {
            self.ours.rows.insert(row.id, row.clone());
        }
        prop_assert_eq!(self.store().add_delivery(row).await, Ok(expected));
        Ok(())
    }
}
