//! Registrations of backlogs, and the round through them.

use postrider_domain::time::Millis;
use postrider_ports::drains::{Registration, Round};
use postrider_ports::history::Cursor;
use proptest::prelude::*;

use super::Model;
use super::command::Seen;

impl Model {
    pub(super) async fn register(&mut self, place: usize) -> Result<(), TestCaseError> {
        let (id, now) = (self.ours.id_at(place), self.now);
        self.ours.kept(place).flow.registered = Some(now);
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        let registered = store.register_backlog(tenant, id, now).await;
        prop_assert_eq!(registered, Ok(()));
        Ok(())
    }

    pub(super) async fn unregister(
        &mut self,
        place: usize,
        seen: Seen,
    ) -> Result<(), TestCaseError> {
        let kept = self.ours.kept(place);
        let webhook = kept.webhook.id;
        let touched_at = kept.flow.registered.unwrap_or_default();
        let touched_at = match seen {
            Seen::Current => {
                kept.flow.registered = None;
                touched_at
            }
            Seen::Outdated => touched_at.minus(Millis::new(1)),
        };
        let registration = Registration {
            tenant: self.ours.tenant.clone(),
            webhook,
            touched_at,
        };
        let unregistered = self.flows().unregister_backlog(&registration).await;
        prop_assert_eq!(unregistered, Ok(()));
        // Much that comes next may register it again.
        self.compare_registrations().await
    }

    pub(super) async fn store_round(&mut self) -> Result<(), TestCaseError> {
        let n = self.draw();
        let cursor = n.is_multiple_of(2).then(|| Cursor(format!("after {n}")));
        let round = Round {
            left: [(1, None), (2, cursor)].into(),
            oldest_due_at: Some(self.now),
        };
        prop_assert_eq!(self.flows().store_round(&round).await, Ok(()));
        if self.has_backlogs() {
            prop_assert_eq!(self.flows().round().await, Ok(round));
        }
        Ok(())
    }

    /// Much renews a registration.
    pub(super) async fn look_at_registration(&mut self, place: usize) {
        let (store, id) = (self.flows(), self.ours.id_at(place));
        let found = store.registration(&self.ours.tenant, id).await.unwrap();
        self.ours.kept(place).flow.registered = found.map(|found| found.touched_at);
    }

    pub(super) async fn compare_registrations(&self) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.flows(), &self.ours.tenant);
        for kept in self.ours.webhooks.iter().filter(|_| self.has_backlogs()) {
            let found = store.registration(tenant, kept.webhook.id).await.unwrap();
            let touched_at = found.map(|found| found.touched_at);
            prop_assert_eq!(touched_at, kept.flow.registered);
        }
        Ok(())
    }

    /// The list names those that are registered.
    pub(super) async fn compare_list_of_registrations(&self) -> Result<(), TestCaseError> {
        if !self.has_backlogs() {
            return Ok(());
        }
        let mut found = Vec::new();
        for shard in 0..self.store().shards() {
            let mut after = None;
            while {
                let page = self.store().registrations(shard, 20, after.as_ref()).await;
                let page = page.unwrap();
                found.extend(page.items);
                after = page.next;
                after.is_some()
            } {}
        }
        let ours = found.iter().filter(|it| it.tenant == self.ours.tenant);
        let mut found: Vec<_> = ours.map(|it| (it.webhook, it.touched_at)).collect();
        found.sort_unstable();
        let all = self.ours.webhooks.iter();
        let expected = all.filter_map(|kept| Some((kept.webhook.id, kept.flow.registered?)));
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        prop_assert_eq!(found, expected, "registrations");
        Ok(())
    }
}
