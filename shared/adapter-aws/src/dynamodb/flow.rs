//! The shared flow of a webhook as one item: its limiter, the credit of its retries, and the lease of its drainer. It is
//! created and deleted with the webhook, and every other write requires that it exists.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use postrider_domain::flow::{Credit, Limiter, Limits};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::drains::{DrainEnd, DrainLease, DrainState, Looked};
use postrider_ports::limiters::{Stored, WebhookFlow};
use serde::{Deserialize, Serialize};

use super::DynamoStore;
use super::calls::{Change, Condition, Query, Table};
use super::item::{Item, from_item, ms, n, s, to_item};
use super::keys::Key;
use super::state::State;

const CAPPED: &str = "capped";
const CREDIT: &str = "credit";
const LEASE_OWNER: &str = "lease_owner";
const LEASE_TAKEN_AT: &str = "lease_taken_at";
const ASKED_FOR: &str = "asked_for";
const LOOKED_AT: &str = "looked_at";
const FIRST_DUE_AT: &str = "first_due_at";

/// How many times credit is asked for after another worker was faster. One that finds none moves its rows to the backlog.
const TRIES: usize = 5;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StoredFlow {
    /// Its fields are attributes of the item.
    #[serde(flatten)]
    limiter: Limiter,
    /// Whether the webhook's settings limit all attempts. Written with the settings.
    #[serde(default)]
    capped: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credit: Option<Credit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_owner: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_taken_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked_for: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    looked_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_due_at: Option<Timestamp>,
}

impl StoredFlow {
    pub(super) fn of(item: Item) -> Result<Self> {
        from_item(item, "the flow of a webhook")
    }

    /// The item of a new webhook.
    pub(super) fn fresh(
        tenant: &TenantId,
        webhook: WebhookId,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<Item> {
        let flow = Self {
            limiter: Limiter::new(limits, now),
            capped: limits.is_capped(),
            ..Self::default()
        };
        let mut item = to_item(&flow)?;
        item.extend(Key::flow(tenant, webhook).item());
        Ok(item)
    }

    pub(super) fn with(self, state: &State) -> WebhookFlow {
        WebhookFlow {
            status: state.health.status,
            generation: state.health.generation,
            updated_at: state.updated_at,
            credit: self.credit,
            failed_in_a_row: state.failed_in_a_row_since(self.limiter.opened_at),
            limiter: self.limiter,
            capped: self.capped,
            drain: DrainState {
                lease: self.lease(),
                asked_for: self.asked_for,
                looked: self.looked_at.map(|at| Looked {
                    at,
                    first_due_at: self.first_due_at,
                }),
            },
        }
    }

    /// What a caller has read of it.
    fn seen(flow: &WebhookFlow) -> Self {
        let lease = flow.drain.lease.as_ref();
        Self {
            limiter: flow.limiter,
            capped: flow.capped,
            credit: flow.credit,
            lease_owner: lease.map(|lease| lease.owner.clone()),
            lease_taken_at: lease.map(|lease| lease.taken_at),
            ..Self::default()
        }
    }

    /// Whether a row that is written now goes to the webhook's backlog.
    pub(super) const fn is_limited(&self) -> bool {
        self.limiter.limited || self.capped
    }

    fn lease(&self) -> Option<DrainLease> {
        Some(DrainLease {
            owner: self.lease_owner.clone()?,
            taken_at: self.lease_taken_at?,
        })
    }

    /// Takes credit for retries; 0 if the webhook is limited, capped or being drained.
    fn take_credit(&self, want: usize, limits: &Limits, now: Timestamp) -> (usize, Credit) {
        let credit = self.credit.unwrap_or_else(|| Credit::full(now));
        let mut credit = credit.healed(now);
        let is_leased = self.lease().is_some_and(|lease| lease.is_live(now));
        if self.is_limited() || is_leased {
            return (0, credit);
        }
        let rate = self.limiter.retry_rate_milli(limits);
        (credit.take(rate, want, now), credit)
    }
}

/// The change of a webhook that has new settings.
pub(super) fn changed(tenant: &TenantId, webhook: WebhookId, limits: &Limits) -> Change {
    Change::of(Table::Deliveries, Key::flow(tenant, webhook))
        .set(CAPPED, AttributeValue::Bool(limits.is_capped()))
        .only_if(Condition::new("attribute_exists(#pk)"))
}

/// The change of a resumed webhook's limiter, as [`Limiter::resumed`] has it, without reading it first.
pub(super) fn resumed(tenant: &TenantId, webhook: WebhookId, now: Timestamp) -> Result<Change> {
    let after = to_item(&Limiter::default().resumed(now))?;
    let kept = ["opened_at", "epoch"];
    // What was asked for before the webhook was stopped has been dropped.
    let change = paused(tenant, webhook).remove(ASKED_FOR);
    Ok(after
        .into_iter()
        .filter(|(name, _)| !kept.contains(&name.as_str()))
        .fold(change, |change, (name, value)| change.set(&name, value)))
}

/// The change of the limiter of a webhook that was stopped, as [`Limiter::paused`] has it.
pub(super) fn paused(tenant: &TenantId, webhook: WebhookId) -> Change {
    Change::of(Table::Deliveries, Key::flow(tenant, webhook))
        .add("epoch", n(1))
        .only_if(Condition::new("attribute_exists(#pk)"))
}

fn with_limiter(change: Change, limiter: &Limiter) -> Result<Change> {
    let attributes = to_item(limiter)?.into_iter();
    Ok(attributes.fold(change, |change, (name, value)| change.set(&name, value)))
}

impl DynamoStore {
    pub(super) async fn flow(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<StoredFlow>> {
        let key = Key::flow(tenant, webhook);
        let item = self.get(Table::Deliveries, &key).await?;
        item.map(StoredFlow::of).transpose()
    }

    /// The flows of webhooks, in order. Each is decoded on its own: one that cannot be read must not look as if its webhook
    /// was deleted.
    pub(super) async fn read_flows(
        &self,
        webhooks: &[(TenantId, WebhookId)],
    ) -> Result<Vec<Result<Option<WebhookFlow>>>> {
        let found = match webhooks {
            [(tenant, webhook)] => self.state_and_flow(tenant, *webhook).await?,
            several => self.states_and_flows(several).await?,
        };
        let mut items = HashMap::with_capacity(found.len());
        for item in found {
            items.insert(Key::of(&item)?, item);
        }
        let read = |(tenant, id): &(TenantId, WebhookId)| {
            let state = items.get(&Key::state(tenant, *id));
            let flow = items.get(&Key::flow(tenant, *id));
            let (Some(state), Some(flow)) = (state, flow) else {
                return Ok(None);
            };
            let state = State::of(state.clone())?;
            Ok(Some(StoredFlow::of(flow.clone())?.with(&state)))
        };
        Ok(webhooks.iter().map(read).collect())
    }

    /// The state and the flow of a webhook in one query, which is billed by the size of all it reads: one unit. Two reads
    /// by key would be two. Between them are only the few small items of the sent log.
    async fn state_and_flow(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Vec<Item>> {
        let (flow, state) = (Key::flow(tenant, webhook), Key::state(tenant, webhook));
        let keys = Condition::new("#pk = :pk AND #sk BETWEEN :flow AND :state")
            .with("pk", s(flow.pk))
            .with("flow", s(flow.sk))
            .with("state", s(state.sk));
        let query = Query {
            keys,
            ..Query::partition(Table::Deliveries, "")
        };
        self.query_all(query).await
    }

    /// Those of many webhooks, in as few calls as possible.
    async fn states_and_flows(&self, webhooks: &[(TenantId, WebhookId)]) -> Result<Vec<Item>> {
        let keys = webhooks
            .iter()
            .flat_map(|(tenant, id)| [Key::state(tenant, *id), Key::flow(tenant, *id)])
            .map(|key| (Table::Deliveries, key));
        let found = self.get_all(keys.collect()).await?;
        Ok(found.into_iter().map(|(_, item)| item).collect())
    }

    pub(super) async fn enter_limit(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        seen_epoch: u64,
        entered: &Limiter,
    ) -> Result<Stored> {
        let is_open = Condition::new("#epoch = :seen AND #limited = :no")
            .with("seen", n(seen_epoch))
            .with("no", AttributeValue::Bool(false));
        let change = Change::of(Table::Deliveries, Key::flow(tenant, webhook));
        self.store(with_limiter(change, entered)?.only_if(is_open))
            .await
    }

    pub(super) async fn take_retry_credit(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        seen: &WebhookFlow,
        want: usize,
        limits: &Limits,
        now: Timestamp,
    ) -> Result<usize> {
        let mut seen = StoredFlow::seen(seen);
        for _ in 0..TRIES {
            let (granted, credit) = seen.take_credit(want, limits, now);
            if granted == 0 {
                return Ok(0);
            }
            let change = Change::of(Table::Deliveries, Key::flow(tenant, webhook))
                .set(CREDIT, serialized(&credit)?)
                .only_if(unchanged(&seen)?);
            if self.change(change).await?.is_some() {
                return Ok(granted);
            }
            let Some(stored) = self.flow(tenant, webhook).await? else {
                return Ok(0);
            };
            seen = stored;
        }
        Ok(0)
    }

    pub(super) async fn take_lease(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        lease: &DrainLease,
    ) -> Result<Option<StoredFlow>> {
        let (oldest, newest) = DrainLease::live_between(lease.taken_at);
        let is_free = "attribute_exists(#pk) AND (attribute_not_exists(#lease_owner) OR #lease_owner = :own \
             OR #lease_taken_at < :oldest OR #lease_taken_at > :newest)";
        let is_free = Condition::new(is_free)
            .with("own", s(&lease.owner))
            .with("oldest", ms(oldest))
            .with("newest", ms(newest));
        let change = Change::of(Table::Deliveries, Key::flow(tenant, webhook))
            .set(LEASE_OWNER, s(&lease.owner))
            .set(LEASE_TAKEN_AT, ms(lease.taken_at))
            .set(CREDIT, serialized(&Credit::empty(lease.taken_at))?)
            .only_if(is_free);
        let item = self.change(change).await?;
        item.map(StoredFlow::of).transpose()
    }

    pub(super) async fn store_stepped(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: &Limiter,
    ) -> Result<Stored> {
        let change = Change::of(Table::Deliveries, Key::flow(tenant, webhook));
        let change = with_limiter(change, limiter)?.only_if(leased_in(lease, seen_epoch));
        self.store(change).await
    }

    pub(super) async fn return_lease(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        lease: &DrainLease,
        end: &DrainEnd,
    ) -> Result<()> {
        let returned = || -> Result<Change> {
            let change = Change::of(Table::Deliveries, Key::flow(tenant, webhook))
                .remove(LEASE_OWNER)
                .remove(LEASE_TAKEN_AT)
                .set(CREDIT, serialized(&Credit::empty(end.at))?)
                .set_or_remove(ASKED_FOR, end.asked_for.map(ms));
            let Some(looked) = end.looked else {
                return Ok(change);
            };
            Ok(change
                .set(LOOKED_AT, ms(looked.at))
                .set_or_remove(FIRST_DUE_AT, looked.first_due_at.map(ms)))
        };
        let stepped = with_limiter(returned()?, &end.limiter)?;
        let stepped = stepped.only_if(leased_in(lease, end.seen_epoch));
        if self.change(stepped).await?.is_none() {
            // The webhook was paused or resumed meanwhile: its limiter is left alone.
            let change = returned()?.only_if(leased(lease));
            self.change(change).await?;
        }
        Ok(())
    }

    pub(super) async fn note_drain_message(
        &self,
        (tenant, webhook): (&TenantId, WebhookId),
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored> {
        let unchanged = match seen {
            Some(seen) => Condition::new("#asked_for = :seen").with("seen", ms(seen)),
            None => Condition::new("attribute_exists(#pk) AND attribute_not_exists(#asked_for)"),
        };
        let change = Change::of(Table::Deliveries, Key::flow(tenant, webhook))
            .set(ASKED_FOR, ms(at))
            .only_if(unchanged);
        self.store(change).await
    }

    async fn store(&self, change: Change) -> Result<Stored> {
        Ok(match self.change(change).await? {
            Some(_) => Stored::Done,
            None => Stored::Outdated,
        })
    }
}

/// Holds while the caller has the lease.
fn leased(lease: &DrainLease) -> Condition {
    Condition::new("#lease_owner = :own").with("own", s(&lease.owner))
}

/// The same, in the epoch that the caller knows.
fn leased_in(lease: &DrainLease, epoch: u64) -> Condition {
    Condition::new("#lease_owner = :own AND #epoch = :seen")
        .with("own", s(&lease.owner))
        .with("seen", n(epoch))
}

/// Holds if no other worker took credit and no drainer came since.
fn unchanged(seen: &StoredFlow) -> Result<Condition> {
    let lease = match seen.lease_taken_at {
        Some(_) => "#lease_taken_at = :taken_at",
        None => "attribute_not_exists(#lease_taken_at)",
    };
    let credit = match seen.credit {
        Some(_) => "#credit = :credit",
        None => "attribute_not_exists(#credit)",
    };
    let mut condition = Condition::new(&format!("#epoch = :epoch AND {credit} AND {lease}"))
        .with("epoch", n(seen.limiter.epoch));
    if let Some(taken_at) = seen.lease_taken_at {
        condition = condition.with("taken_at", ms(taken_at));
    }
    if let Some(credit) = &seen.credit {
        condition = condition.with("credit", serialized(credit)?);
    }
    Ok(condition)
}

fn serialized(credit: &Credit) -> Result<AttributeValue> {
    to_item(credit).map(AttributeValue::M)
}
