//! What all workers share about a webhook. A store that keeps it in its memory has it in one process, and forgets it with it.

use postrider_domain::flow::Limiter;
use postrider_domain::health::Health;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::Webhook;
use postrider_ports::Store;
use postrider_ports::drains::{DrainLease, DrainState};
use postrider_ports::limiters::WebhookFlow;
use proptest::prelude::*;

use super::Model;
use super::command::Seen;
use crate::store_suite::WaitingRows;

pub(super) struct Flow {
    pub(super) limiter: Limiter,
    pub(super) drain: DrainState,
    pub(super) registered: Option<Timestamp>,
}

impl Flow {
    pub(super) fn new(webhook: &Webhook) -> Self {
        Self {
            limiter: Limiter::new(&webhook.settings.limits(), webhook.created_at),
            drain: DrainState::default(),
            registered: None,
        }
    }

    /// Follows a change of status by an operator or a probe.
    pub(super) fn follow(&mut self, after: &Health) {
        self.limiter = if after.status.is_stopped() {
            self.limiter.paused()
        } else {
            self.limiter.resumed(after.changed_at.unwrap_or_default())
        };
    }

    pub(super) fn is_held_by(&self, lease: &DrainLease) -> bool {
        let held = self.drain.lease.as_ref();
        held.is_some_and(|held| held.owner == lease.owner)
    }

    /// The epoch that a caller has read, or another one.
    pub(super) const fn epoch(&self, seen: Seen) -> u64 {
        match seen {
            Seen::Current => self.limiter.epoch,
            Seen::Outdated => self.limiter.epoch + 1,
        }
    }
}

impl Model {
    /// The store of the process that knows the flows.
    pub(super) fn flows(&self) -> &dyn Store {
        match self.handle().waiting_rows {
            WaitingRows::InBacklog => self.store(),
            WaitingRows::Unmarked => &*self.processes.first().store,
        }
    }

    pub(super) fn has_backlogs(&self) -> bool {
        self.handle().waiting_rows == WaitingRows::InBacklog
    }

    pub(super) async fn flow(&self, webhook: WebhookId) -> Option<WebhookFlow> {
        let webhook = (self.ours.tenant.clone(), webhook);
        let mut flows = self.flows().flows(&[webhook]).await;
        flows.remove(0).unwrap()
    }

    /// What was asked for before a webhook was stopped may be forgotten with its resume.
    pub(super) async fn look_at_drain(&mut self, place: usize) {
        let found = self.flow(self.ours.id_at(place)).await;
        let known = &mut self.ours.kept(place).flow.drain.asked_for;
        if let Some(WebhookFlow { drain, .. }) = found
            && drain.asked_for.is_none()
        {
            *known = None;
        }
        self.look_at_registration(place).await;
    }

    /// A webhook that has failed may count as paused, for its limiter.
    pub(super) async fn look_at_failed(&mut self, place: usize) {
        let found = self.flow(self.ours.id_at(place)).await;
        let known = &mut self.ours.kept(place).flow.limiter;
        if found.is_some_and(|found| found.limiter == known.paused()) {
            *known = known.paused();
        }
        self.look_at_registration(place).await;
    }

    /// After its process has ended, a store that keeps flows in memory begins again with what it knows of the webhook.
    pub(super) async fn forget_flows(&mut self) {
        if self.has_backlogs() {
            return;
        }
        for place in 0..self.ours.webhooks.len() {
            let found = self.flow(self.ours.id_at(place)).await;
            let flow = &mut self.ours.kept(place).flow;
            if let Some(WebhookFlow { limiter, drain, .. }) = found {
                flow.limiter = limiter;
                flow.drain = drain;
            }
        }
    }

    pub(super) async fn compare_flows(&self) -> Result<(), TestCaseError> {
        let tenant = &self.ours.tenant;
        let all = self.ours.webhooks.iter();
        let ids: Vec<_> = all.map(|kept| (tenant.clone(), kept.webhook.id)).collect();
        let found = self.flows().flows(&ids).await;
        prop_assert_eq!(found.len(), ids.len());
        for (kept, found) in self.ours.webhooks.iter().zip(found) {
            let (found, health) = (found.unwrap(), kept.health());
            prop_assert_eq!(found.is_some(), health.is_some());
            if let (Some(found), Some(health)) = (found, health) {
                prop_assert_eq!(found.limiter, kept.flow.limiter);
                prop_assert_eq!(&found.drain, &kept.flow.drain);
                let state = (found.status, found.generation);
                prop_assert_eq!(state, (health.status, health.generation));
            }
        }
        Ok(())
    }
}
