//! Probes of failed webhooks. The function that sends a probe can only record that it was answered; the publisher, which changes states
//! anyway, sees that record and resumes the webhook.

use async_trait::async_trait;
use postrider_domain::health::{Health, PROBES_APART};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::probes::Probes;

use super::DynamoStore;
use super::calls::{Step, Table, Transacted};
use super::chores::Chore;
use super::keys::Key;
use super::{state, webhook_item};
use crate::fault;

/// How many times a change of state is retried because another writer was faster.
const ROUNDS: u32 = 10;

#[async_trait]
impl Probes for DynamoStore {
    async fn probes_due(&self, limit: usize, now: Timestamp) -> Result<Vec<(TenantId, WebhookId)>> {
        let markers = self.markers(Chore::Test).await?;
        let webhooks = markers.iter().map(|one| (one.tenant.clone(), one.webhook));
        let states = self.states(webhooks.collect::<Vec<_>>()).await?;
        let mut due = Vec::new();
        for marker in markers {
            let webhook = (marker.tenant.clone(), marker.webhook);
            let health = states.get(&webhook).map(|state| &state.health);
            match health.and_then(|health| health.next_probe_at) {
                Some(at) if at.is_due(now, PROBES_APART) => due.push(webhook),
                Some(_) => {}
                // It is no longer failed, or was probed for the last time. If it fails again, it is marked again.
                None => self.unmark(&marker).await?,
            }
        }
        self.with_probes_enabled(due, limit).await
    }

    async fn begin_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<Option<Health>> {
        let Some(before) = self.state(tenant, id).await? else {
            return Ok(None);
        };
        let Some(after) = before.health.probe_begun(now) else {
            return Ok(None);
        };
        let begun = self
            .change_state(tenant, id, &before, after.clone(), now)
            .await?;
        Ok(begun.then_some(after))
    }

    async fn give_back_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        probes: u32,
        now: Timestamp,
    ) -> Result<()> {
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, id).await? else {
                return Ok(());
            };
            let Some(after) = before.health.probe_given_back(probes, now) else {
                return Ok(());
            };
            let after = before.changed(after, now).item(tenant, id)?;
            // It may have been the last one, and the marker gone since.
            let steps = [
                Step::Put(Table::Deliveries, after, Some(before.unchanged())),
                Chore::Test.mark(tenant, id, now)?,
            ];
            if self.transact(&steps).await? == Transacted::Done {
                return Ok(());
            }
        }
        Err(fault::contended("the state of a webhook"))
    }

    async fn probe_passed(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        generation: u32,
        now: Timestamp,
    ) -> Result<()> {
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, id).await? else {
                return Ok(());
            };
            if before.health.passed_probe(generation, now).is_none() {
                return Ok(());
            }
            let item = before.answered(now).item(tenant, id)?;
            let unchanged = Some(before.unchanged());
            if self.put(Table::Deliveries, item, unchanged).await? {
                return Ok(());
            }
        }
        Err(fault::contended("the state of a webhook"))
    }
}

impl DynamoStore {
    async fn with_probes_enabled(
        &self,
        mut due: Vec<(TenantId, WebhookId)>,
        limit: usize,
    ) -> Result<Vec<(TenantId, WebhookId)>> {
        let keys = due
            .iter()
            .map(|(tenant, id)| (Table::Configs, Key::webhook(tenant, *id)));
        let mut enabled = Vec::new();
        for (_, item) in self.get_all(keys.collect()).await? {
            let key = Key::of(&item)?;
            if webhook_item::outline(item)?.auto_resume {
                enabled.push(key);
            }
        }
        due.retain(|(tenant, id)| enabled.contains(&Key::webhook(tenant, *id)));
        due.truncate(limit);
        Ok(due)
    }

    /// Resumes a webhook whose probe was answered, unless it is no longer failed or an operator changed it since. The
    /// effects start now, however long ago the answer arrived.
    pub(super) async fn resume_probed(&self, passed: &state::Passed, now: Timestamp) -> Result<()> {
        let state::Passed {
            tenant,
            webhook,
            generation,
        } = passed;
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, *webhook).await? else {
                return Ok(());
            };
            let Some(after) = before.health.passed_probe(*generation, now) else {
                return Ok(());
            };
            let change = self.change_state(tenant, *webhook, &before, after, now);
            if change.await? {
                return Ok(());
            }
        }
        Err(fault::contended("the state of a webhook"))
    }
}
