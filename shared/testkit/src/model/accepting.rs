//! Accepts events, also repeatedly, and adds rows to them.

use std::sync::Arc;

use postrider_domain::delivery::{Claimed, Delivery, Lease};
use postrider_domain::event::{Event, Origin, RequestHash};
use postrider_domain::ids::DeliveryId;
use postrider_domain::notification::event_notification;
use postrider_ports::deliveries::{Acceptance, Accepted};
use postrider_ports::interventions::Added;
use postrider_ports::queue::AttemptMessage;
use postrider_ports::start_now::{Planned, Reservation};
use proptest::prelude::*;

use super::Model;
use super::command::{Plan, Request};
use super::tenancy::{EventState, Published};
use crate::builders;

/// A request as a process sends it.
struct Sent {
    planned: Planned,
    starts: bool,
}

impl Model<'_> {
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
                let request = self.request(acceptance, claim);
                let sent = self.call(async || self.send(&request).await).await.said;
                prop_assert_eq!(sent, Ok((Accepted::Outdated, Vec::new())));
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
        let mut request = self.request(acceptance, claim);
        let started = self.started(&request);
        match self.call_once(async || self.send(&request).await).await {
            Some(sent) => prop_assert_eq!(sent, Ok((Accepted::New, started.clone()))),
            None => self.send_again(&mut request, &started).await?,
        }
        for row in request.planned.acceptance.rows {
            self.ours.rows.insert(row.id, row);
        }
        for claimed in started {
            self.note_start(claimed);
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

    /// The rows of active webhooks that start with the request.
    fn started(&self, Sent { planned, starts }: &Sent) -> Vec<Claimed> {
        let is_active = |webhook| {
            let status = self.ours.status_of(webhook);
            *starts && status.is_some_and(|status| !status.is_stopped())
        };
        let rows = planned.acceptance.rows.iter().zip(&planned.reserved);
        let started = rows.filter(|(row, _)| is_active(row.id.webhook));
        let claimed = started.map(|(row, reserved)| row.clone().claim(&reserved.lease, self.now));
        claimed.map(Result::unwrap).collect()
    }

    /// A row that was stored claimed is as if it had been claimed at once.
    fn note_start(&mut self, claimed: Claimed) {
        let row = claimed.delivery().clone();
        let lease = Lease {
            owner: claimed.owner().clone(),
            until: row.lease_until,
        };
        let wanted = self.wanted_under(row.id, lease);
        self.ours.rows.insert(row.id, row);
        self.ours.claims.push((claimed, wanted));
    }

    /// One that may start its deliveries has a reservation for each row.
    fn request(&mut self, acceptance: Acceptance, claim: bool) -> Sent {
        let starts = claim && self.handle().embedded.is_some();
        let reserved = acceptance.rows.iter().filter(|_| starts);
        let reserved = reserved.map(|row| Reservation {
            webhook: row.id.webhook,
            lease: self.lease(),
        });
        let planned = Planned {
            reserved: reserved.collect(),
            acceptance,
        };
        Sent { planned, starts }
    }

    async fn send(
        &self,
        Sent { planned, starts }: &Sent,
    ) -> postrider_ports::Result<(Accepted, Vec<Claimed>)> {
        let embedded = self.handle().embedded.as_ref().filter(|_| *starts);
        let Some(store) = embedded else {
            let acceptance = planned.acceptance.clone();
            let accepted = self.store().accept(vec![acceptance]).await.remove(0);
            return accepted.map(|accepted| (accepted, Vec::new()));
        };
        let accepted = store.accept_claimed(vec![planned.clone()]).await;
        let (accepted, claimed) = accepted.into_iter().next().unwrap()?;
        let claimed = claimed.into_iter().map(|one| one.claimed);
        Ok((accepted, claimed.collect()))
    }

    /// Repeats a request whose event may be stored, with some of its rows: the others are stored now.
    async fn send_again(
        &self,
        request: &mut Sent,
        started: &[Claimed],
    ) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let Acceptance { event, rows, .. } = &request.planned.acceptance;
        let mut missing = Vec::new();
        for row in rows {
            if store.delivery(tenant, row.id).await.unwrap().is_none() {
                missing.push(AttemptMessage::of(row));
            }
        }
        let is_stored = store.event(tenant, event.id).await.unwrap().is_some();
        let duplicate = Accepted::Duplicate {
            event: event.id,
            deliveries: rows.iter().map(|row| row.id).collect(),
            completed: missing.clone(),
        };
        let expected = if is_stored {
            (duplicate, Vec::new())
        } else {
            (Accepted::New, started.to_vec())
        };
        let mut sent = self.send(request).await;
        if let Ok((Accepted::Duplicate { deliveries, .. }, _)) = &mut sent {
            deliveries.sort();
        }
        prop_assert_eq!(sent, Ok(expected));
        let rows = request.planned.acceptance.rows.iter_mut();
        for row in rows.filter(|row| missing.iter().any(|one| is_stored && one.id == row.id)) {
            // The stored plan does not have it. An attempt sets it.
            row.signature.clear();
        }
        Ok(())
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
        let request = self.request(acceptance, claim);
        match self.call(async || self.send(&request).await).await.said {
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
        let again = match expected {
            Added::Done | Added::Exists => Added::Exists,
            Added::EventMissing => Added::EventMissing,
        };
        let add = async || self.store().add_delivery(row.clone()).await;
        self.expect([expected, again], add).await
    }
}
