//! Tests of failed webhooks. Whoever makes one may only say that it was answered: the publisher, which changes states
//! anyway, resumes the webhook when it hears of that.

use async_trait::async_trait;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::probes::Probes;

use super::DynamoStore;
use super::calls::Table;
use super::chores::Chore;
use super::keys::Key;
use super::{state, webhook_item};
use crate::fault;

/// How often a change of state is tried again when somebody else was faster.
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
                Some(at) if at <= now => due.push(webhook),
                Some(_) => {}
                // It is not failed any more, or was tested for the last time. One that fails again is marked anew.
                None => self.unmark(&marker).await?,
            }
        }
        self.wanting_probes(due, limit).await
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
    async fn wanting_probes(
        &self,
        mut due: Vec<(TenantId, WebhookId)>,
        limit: usize,
    ) -> Result<Vec<(TenantId, WebhookId)>> {
        let keys = due
            .iter()
            .map(|(tenant, id)| (Table::Configs, Key::webhook(tenant, *id)));
        let mut wanting = Vec::new();
        for (_, item) in self.get_all(keys.collect()).await? {
            let key = Key::of(&item)?;
            if webhook_item::outline(item)?.auto_resume {
                wanting.push(key);
            }
        }
        due.retain(|(tenant, id)| wanting.contains(&Key::webhook(tenant, *id)));
        due.truncate(limit);
        Ok(due)
    }

    /// Resumes a webhook whose test was answered, unless it is not failed any more or a person changed it since.
    /// What follows from that begins now, however long ago the answer came.
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

    /// Whether a webhook in this state has to be looked at for tests.
    pub(super) const fn is_probed(health: &Health) -> bool {
        matches!(health.status, WebhookStatus::Failed) && health.next_probe_at.is_some()
    }
}
