//! Webhooks: settings in one table, state next to the rows in the other, and the version that makes plans outdated. A
//! change to a webhook updates all three in one transaction.

use std::collections::HashMap;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_domain::webhook::{MAX_WEBHOOKS, Webhook};
use postrider_ports::configs::{Changed, Created, WebhookChange, WebhookList, Webhooks};
use postrider_ports::{Error, Result};
use postrider_store_format::StoredWebhook;

use super::calls::{Change, Condition, Query, Step, Table, Transacted};
use super::chores::{Chore, after_change};
use super::flow::{self, StoredFlow};
use super::item::{Item, ms, n, s};
use super::keys::{Key, WEBHOOK_PREFIX};
use super::registrations::registering;
use super::state::State;
use super::version::raised;
use super::{DynamoStore, stats, webhook_item};
use crate::fault::{self, readable_only};

/// The attribute that counts the webhooks.
const COUNT: &str = "webhooks";
/// How many times a change of state is retried because another writer was faster.
const ROUNDS: u32 = 10;
/// How many tenants are counted at the same time.
const TENANTS_AT_ONCE: usize = 16;

#[async_trait]
impl Webhooks for DynamoStore {
    async fn webhooks_version(&self, tenant: &TenantId) -> Result<u64> {
        self.version(tenant).await
    }

    async fn webhooks(&self, tenant: &TenantId) -> Result<WebhookList> {
        // The version first: what is read after it is at least as new, so a plan can only appear older than it is.
        let version = self.version(tenant).await?;
        let query = Query::prefix(Table::Configs, tenant.as_str(), WEBHOOK_PREFIX);
        let items = self.query_all(query).await?;
        let ids = items
            .iter()
            .map(|item| Ok((tenant.clone(), webhook_item::id(item)?)))
            .collect::<Result<Vec<_>>>()?;
        let states = self.states(ids).await?;
        let webhooks = self.assemble(tenant, items, states).await?;
        // One that cannot be opened must not keep the others from their events.
        let webhooks = readable_only(webhooks.into_iter())?;
        Ok(WebhookList {
            version,
            webhooks,
            tenant: self.tenant_record(tenant).await?,
        })
    }

    async fn webhook(&self, tenant: &TenantId, id: WebhookId) -> Result<Option<Webhook>> {
        let keys = vec![
            (Table::Configs, Key::webhook(tenant, id)),
            (Table::Deliveries, Key::state(tenant, id)),
        ];
        let (mut items, mut states) = (Vec::new(), HashMap::new());
        for (table, item) in self.get_all(keys).await? {
            match table {
                Table::Configs => items.push(item),
                Table::Deliveries => {
                    states.insert((tenant.clone(), id), State::of(item)?);
                }
            }
        }
        self.assemble(tenant, items, states)
            .await?
            .pop()
            .transpose()
    }

    async fn failed_webhooks(&self) -> Result<u64> {
        let tenants = self.listed_tenants().await?;
        let counts = tenants.into_iter().map(|tenant| self.failed_of(tenant));
        let counts: Vec<_> = counts.collect();
        let mut counts = stream::iter(counts).buffer_unordered(TENANTS_AT_ONCE);
        let mut failed = 0;
        while let Some(count) = counts.next().await {
            failed += count?;
        }
        Ok(failed)
    }

    async fn create_webhook(&self, webhook: Webhook) -> Result<Created> {
        let (tenant, id) = (&webhook.tenant, webhook.id);
        let vault = self.vault_for_sealing(tenant).await?;
        let stored = StoredWebhook::of(&vault, tenant, id, &webhook.settings, &webhook.secrets)?;
        let state = State::default().changed(webhook.health.clone(), webhook.created_at);
        let (limits, now) = (webhook.settings.limits(), webhook.created_at);
        let flow = StoredFlow::fresh(tenant, id, &limits, now)?;
        let fresh = Condition::new("attribute_not_exists(#pk)");
        let record = self.tenant_record(tenant).await?;
        let most = record.map_or(MAX_WEBHOOKS, |record| record.limits.max_webhooks());
        let room = Condition::new("attribute_not_exists(#webhooks) OR #webhooks < :most")
            .with("most", n(most));
        let mut steps = vec![
            Step::Change(counted(tenant, 1).only_if(room)),
            Step::Put(
                Table::Configs,
                webhook_item::item(&webhook, stored)?,
                Some(fresh),
            ),
            Step::Put(Table::Deliveries, state.item(tenant, id)?, None),
            Step::Put(Table::Configs, Key::tenant(tenant).item(), None),
            Step::Put(Table::Deliveries, flow, None),
        ];
        steps.extend(raised(tenant));
        if limits.is_capped() {
            // Its first row already goes to its backlog.
            steps.push(registering(tenant, id, now));
        }
        match self.transact(&steps).await? {
            Transacted::Done => Ok(Created::Done),
            Transacted::Conflicted(places) if places.contains(&0) => Ok(Created::TooMany),
            Transacted::Conflicted(_) => {
                Err(Error::Broken("the webhook already exists".to_owned()))
            }
        }
    }

    async fn change_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        change: WebhookChange,
    ) -> Result<Changed> {
        let key = Key::webhook(tenant, id);
        if self.get(Table::Configs, &key).await?.is_none() {
            return Ok(Changed::Missing);
        }
        let vault = self.vault_for_sealing(tenant).await?;
        let stored = StoredWebhook::of(&vault, tenant, id, &change.settings, &change.secrets)?;
        let seen = Condition::new("#updated_at = :seen").with("seen", ms(change.seen));
        let mut steps = vec![
            Step::Change(
                Change::of(Table::Configs, key.clone())
                    .set("settings", s(stored.settings))
                    .set(webhook_item::SEALED, webhook_item::sealed(stored.sealed))
                    .set("updated_at", ms(change.updated_at))
                    .only_if(seen),
            ),
            Step::Change(
                Change::of(Table::Deliveries, Key::state(tenant, id))
                    .set("updated_at", ms(change.updated_at))
                    .add("revision", n(1))
                    .only_if(Condition::new("attribute_exists(#pk)")),
            ),
            Step::Change(flow::changed(tenant, id, &change.settings.limits())),
            // A drainer applies the new settings to the limiter.
            registering(tenant, id, change.updated_at),
        ];
        steps.extend(raised(tenant));
        match self.transact(&steps).await? {
            Transacted::Done => Ok(Changed::Done),
            Transacted::Conflicted(_) => {
                let there = self.get(Table::Configs, &key).await?.is_some();
                Ok(if there {
                    Changed::Outdated
                } else {
                    Changed::Missing
                })
            }
        }
    }

    async fn set_webhook_status(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        status: WebhookStatus,
        now: Timestamp,
    ) -> Result<Option<Health>> {
        for _ in 0..ROUNDS {
            let Some(before) = self.state(tenant, id).await? else {
                return Ok(None);
            };
            if before.health.status == status {
                return Ok(Some(before.health));
            }
            let after = before.health.set(status, now);
            if self
                .change_state(tenant, id, &before, after.clone(), now)
                .await?
            {
                return Ok(Some(after));
            }
        }
        Err(fault::contended("the state of a webhook"))
    }

    async fn delete_webhook(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<bool> {
        let there = Condition::new("attribute_exists(#pk)");
        let mut steps = vec![
            Step::Delete(Table::Configs, Key::webhook(tenant, id), Some(there)),
            Step::Delete(Table::Deliveries, Key::state(tenant, id), None),
            Step::Delete(Table::Deliveries, Key::flow(tenant, id), None),
            Step::Change(counted(tenant, -1)),
            Chore::EndDeleted.mark(tenant, id, now)?,
            stats::remembered(tenant, id, now),
        ];
        steps.extend(raised(tenant));
        Ok(self.transact(&steps).await? == Transacted::Done)
    }
}

impl DynamoStore {
    async fn failed_of(&self, tenant: TenantId) -> Result<u64> {
        let states = self.states(self.webhook_ids(&tenant).await?).await?;
        let is_failed = |state: &&State| state.health.status == WebhookStatus::Failed;
        Ok(states.values().filter(is_failed).count() as u64)
    }

    /// Stores a changed state, unless another writer was faster. Returns whether it was stored.
    pub(super) async fn change_state(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        before: &State,
        after: Health,
        now: Timestamp,
    ) -> Result<bool> {
        let after = State {
            health: after,
            noted_at: now,
            ..before.clone()
        };
        self.change_state_to(tenant, id, before, after).await
    }

    pub(super) async fn change_state_to(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        before: &State,
        after: State,
    ) -> Result<bool> {
        let (status, now) = (after.health.status, after.noted_at);
        let item = after.changed(after.health.clone(), now).item(tenant, id)?;
        let unchanged = Some(before.unchanged());
        if before.health.status == status {
            return self.put(Table::Deliveries, item, unchanged).await;
        }
        let mut steps = vec![Step::Put(Table::Deliveries, item, unchanged)];
        steps.extend(after_change(status, tenant, id, now)?);
        // Otherwise an outage that fails a thousand webhooks would make every process read all of them a thousand times.
        if changes_plans(before.health.status, status) {
            steps.extend(raised(tenant));
        }
        Ok(self.transact(&steps).await? == Transacted::Done)
    }

    async fn assemble(
        &self,
        tenant: &TenantId,
        items: Vec<Item>,
        mut states: HashMap<(TenantId, WebhookId), State>,
    ) -> Result<Vec<Result<Webhook>>> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let vault = self.vault(tenant).await?;
        let mut webhooks = Vec::with_capacity(items.len());
        for item in items {
            let id = webhook_item::id(&item)?;
            // A webhook without a state was deleted between the two reads.
            if let Some(state) = states.remove(&(tenant.clone(), id)) {
                webhooks.push(webhook_item::webhook(item, tenant, state.health, &vault));
            }
        }
        Ok(webhooks)
    }
}

fn counted(tenant: &TenantId, by: i8) -> Change {
    Change::of(Table::Configs, Key::counts(tenant)).add(COUNT, n(by))
}

/// Whether events are planned for a webhook with one of these statuses and not with the other.
fn changes_plans(before: WebhookStatus, after: WebhookStatus) -> bool {
    let is_planned = |status| match status {
        WebhookStatus::Active | WebhookStatus::Failed | WebhookStatus::Paused => true,
        WebhookStatus::Disabled => false,
    };
    is_planned(before) != is_planned(after)
}
