//! Probes of failed webhooks.

use std::collections::BTreeSet;

use postrider_domain::health::PROBES_APART;
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};
use crate::store_suite::Fixture;

/// Far more than are due.
const PAGE: usize = 10_000;

#[derive(Clone, Debug)]
pub(super) enum ProbeCommand {
    Begin {
        webhook: usize,
    },
    /// Gives back the last probe, or another one.
    GiveBack {
        webhook: usize,
        seen: Seen,
    },
    /// A probe succeeded that was sent in the current generation, or in another one.
    Pass {
        webhook: usize,
        seen: Seen,
    },
    /// Does all of it to a webhook of the other tenant, as if it were ours.
    Confuse {
        webhook: usize,
    },
}

pub(super) fn command() -> impl Strategy<Value = ProbeCommand> {
    let number = any::<usize>;
    prop_oneof![
        6 => number().prop_map(|webhook| ProbeCommand::Begin { webhook }),
        2 => (number(), command::seen())
            .prop_map(|(webhook, seen)| ProbeCommand::GiveBack { webhook, seen }),
        2 => (number(), command::seen())
            .prop_map(|(webhook, seen)| ProbeCommand::Pass { webhook, seen }),
        1 => number().prop_map(|webhook| ProbeCommand::Confuse { webhook }),
    ]
}

impl Model {
    pub(super) async fn do_with_probes(
        &mut self,
        command: &ProbeCommand,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        match *command {
            ProbeCommand::Begin { webhook } => {
                let place = self.webhook_at(webhook).await?;
                self.begin_probe(place).await
            }
            ProbeCommand::GiveBack { webhook, seen } => {
                let place = self.webhook_at(webhook).await?;
                self.give_back_probe(place, seen).await
            }
            ProbeCommand::Pass { webhook, seen } => {
                let place = self.webhook_at(webhook).await?;
                self.pass_probe(place, seen, fixture).await
            }
            ProbeCommand::Confuse { webhook } => self.confuse_probes(webhook).await,
        }
    }

    async fn begin_probe(&mut self, place: usize) -> Result<(), TestCaseError> {
        let (id, now) = (self.ours.id_at(place), self.now);
        let health = self.ours.kept(place).health();
        let expected = health.and_then(|health| health.probe_begun(now));
        if let Some(after) = &expected {
            self.ours.set_health(place, after, now);
        }
        let (store, tenant) = (self.store(), &self.ours.tenant);
        prop_assert_eq!(store.begin_probe(tenant, id, now).await, Ok(expected));
        Ok(())
    }

    async fn give_back_probe(&mut self, place: usize, seen: Seen) -> Result<(), TestCaseError> {
        let (id, now) = (self.ours.id_at(place), self.now);
        let health = self.ours.kept(place).health().cloned();
        let last = health.as_ref().map_or(0, |health| health.probes);
        let probes = match seen {
            Seen::Current => last,
            Seen::Outdated => last + 1,
        };
        let after = health.and_then(|health| health.probe_given_back(probes, now));
        if let Some(after) = after {
            self.ours.set_health(place, &after, now);
        }
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let given_back = store.give_back_probe(tenant, id, probes, now).await;
        prop_assert_eq!(given_back, Ok(()));
        Ok(())
    }

    /// On AWS the publisher resumes the webhook, at a time of its own.
    async fn pass_probe(
        &mut self,
        place: usize,
        seen: Seen,
        fixture: &impl Fixture,
    ) -> Result<(), TestCaseError> {
        let id = self.ours.id_at(place);
        let health = self.ours.kept(place).health().cloned();
        let known = health.as_ref().map_or(0, |health| health.generation);
        let generation = match seen {
            Seen::Current => known,
            Seen::Outdated => known + 1,
        };
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let passed = store.probe_passed(tenant, id, generation, self.now).await;
        prop_assert_eq!(passed, Ok(()));
        fixture.follow().await;
        let stored = store.webhook(tenant, id).await.unwrap();
        let changed_at = stored.and_then(|stored| stored.health.changed_at);
        let at = changed_at.unwrap_or(self.now);
        let after = health.and_then(|health| health.passed_probe(generation, at));
        if let Some(after) = after {
            self.ours.set_health(place, &after, at);
            self.ours.kept(place).flow.follow(&after);
        }
        self.look_at_drain(place).await;
        Ok(())
    }

    async fn confuse_probes(&self, n: usize) -> Result<(), TestCaseError> {
        let Some(theirs) = super::nth(&self.theirs.webhooks, n) else {
            return Ok(());
        };
        let (id, health) = (theirs.webhook.id, &theirs.webhook.health);
        let (store, us, now) = (self.store(), &self.ours.tenant, self.now);
        prop_assert_eq!(store.begin_probe(us, id, now).await, Ok(None));
        let given_back = store.give_back_probe(us, id, health.probes, now).await;
        prop_assert_eq!(given_back, Ok(()));
        let passed = store.probe_passed(us, id, health.generation, now).await;
        prop_assert_eq!(passed, Ok(()));
        Ok(())
    }

    pub(super) async fn compare_probes(&self) -> Result<(), TestCaseError> {
        let found = self.store().probes_due(PAGE, self.now).await.unwrap();
        let found = found.into_iter();
        let found = found.filter(|(tenant, _)| *tenant == self.ours.tenant);
        let found: BTreeSet<_> = found.map(|(_, id)| id).collect();
        let is_due = |kept: &&super::webhooks::Kept| {
            let health = kept.health().filter(|_| kept.webhook.settings.auto_resume);
            let next = health.and_then(|health| health.next_probe_at);
            next.is_some_and(|at| at.is_due(self.now, PROBES_APART))
        };
        let expected = self.ours.webhooks.iter().filter(is_due);
        let expected: BTreeSet<_> = expected.map(|kept| kept.webhook.id).collect();
        prop_assert_eq!(found, expected, "probes due");
        Ok(())
    }
}
