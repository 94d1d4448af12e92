//! The paces of webhooks: one item each, written when turns are taken or the rate changes.

use std::collections::HashMap;

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::pace::{Asked, Given, Pace, Signal, Slowed, micros, turn};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::pace::Pacing;
use serde::Deserialize;

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::item::{Item, from_item, ms, n};
use super::keys::Key;
use crate::fault;

/// The next free turn, in microseconds.
const TAT: &str = "tat";
const RATE: &str = "rate_milli";
const HALVED_AT: &str = "halved_at";
const CHANGED_AT: &str = "changed_at";

/// How many times a write is tried: it fails only if another writer succeeded in between.
const TRIES: usize = 20;

#[derive(Deserialize)]
struct Stored {
    #[serde(default)]
    tat: i64,
    rate_milli: Option<u32>,
    #[serde(default)]
    halved_at: Timestamp,
    #[serde(default)]
    changed_at: Timestamp,
}

#[async_trait]
impl Pacing for DynamoStore {
    async fn paces(&self, tenant: &TenantId, webhooks: &[WebhookId]) -> Result<Vec<Pace>> {
        if let [webhook] = webhooks {
            return Ok(vec![self.pace(tenant, *webhook).await?]);
        }
        let keys = webhooks
            .iter()
            .map(|id| (Table::Deliveries, Key::pace(tenant, *id)));
        let mut found = HashMap::with_capacity(webhooks.len());
        for (_, item) in self.get_all(keys.collect()).await? {
            let (_, webhook) = Key::of(&item)?.as_webhook()?;
            found.insert(webhook, read(item)?);
        }
        let pace = |id| found.get(id).copied().unwrap_or_default();
        Ok(webhooks.iter().map(pace).collect())
    }

    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asked: Asked,
        now: Timestamp,
    ) -> Result<Given> {
        for _ in 0..TRIES {
            let seen = self.pace(tenant, webhook).await?;
            let (given, _) = seen.reserve(asked, now);
            if given.turns.is_empty() {
                return Ok(given);
            }
            let step = seen.step_us(asked.per_second);
            let count = i64::try_from(given.turns.len()).unwrap_or(i64::MAX);
            let span = step.saturating_mul(count);
            // Many may read before one of them writes: then the turns of the last would be hours ahead.
            let latest = micros(asked.until)
                .saturating_sub(span)
                .saturating_add(step);
            let change = taking(tenant, webhook, &seen, Span { span, latest }, now);
            if let Some(item) = self.change(change).await? {
                // Others may have taken turns since the read: the last ones are this caller's.
                let end = read(item)?.free_at_us;
                let begin = end.saturating_sub(step.saturating_mul(count));
                let next = |at: &i64| Some(at.saturating_add(step));
                let turns = std::iter::successors(Some(begin), next).take(given.turns.len());
                return Ok(Given {
                    turns: turns.map(turn).collect(),
                    ..given
                });
            }
        }
        Err(fault::contended("the pace of a webhook"))
    }

    async fn report(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        signal: Signal,
        per_second: u32,
        now: Timestamp,
    ) -> Result<()> {
        for _ in 0..TRIES {
            let seen = self.pace(tenant, webhook).await?;
            let Some(after) = seen.signalled(signal, per_second, now) else {
                return Ok(());
            };
            let change = slowing(tenant, webhook, after.slowed).only_if(is_still(&seen, ""));
            if self.change(change).await?.is_some() {
                return Ok(());
            }
        }
        Err(fault::contended("the pace of a webhook"))
    }
}

impl DynamoStore {
    pub(super) async fn pace(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Pace> {
        let key = Key::pace(tenant, webhook);
        let found = self.get(Table::Deliveries, &key).await?;
        found.map_or_else(|| Ok(Pace::default()), read)
    }
}

/// The change that lets a resumed webhook start slowly.
pub(super) fn probing(tenant: &TenantId, webhook: WebhookId, now: Timestamp) -> Change {
    slowing(tenant, webhook, Pace::default().probing(now).slowed)
}

/// Turns to take, in microseconds.
struct Span {
    span: i64,
    /// The latest start.
    latest: i64,
}

/// Takes the turns of this span, unless the rate has changed since or they would start too late. A concurrent caller
/// that also takes turns does not conflict: both add to what is taken.
fn taking(
    tenant: &TenantId,
    webhook: WebhookId,
    seen: &Pace,
    Span { span, latest }: Span,
    now: Timestamp,
) -> Change {
    let change = Change::of(Table::Deliveries, Key::pace(tenant, webhook));
    let now_us = micros(now);
    if seen.free_at_us >= now_us {
        let ahead = is_still(seen, " AND #tat BETWEEN :now AND :latest")
            .with("now", n(now_us))
            .with("latest", n(latest.max(now_us)));
        return change.add(TAT, n(span)).only_if(ahead);
    }
    let past = " AND (attribute_not_exists(#tat) OR #tat < :now)";
    change
        .set(TAT, n(now_us.saturating_add(span)))
        .only_if(is_still(seen, past).with("now", n(now_us)))
}

fn slowing(tenant: &TenantId, webhook: WebhookId, slowed: Option<Slowed>) -> Change {
    Change::of(Table::Deliveries, Key::pace(tenant, webhook))
        .set_or_remove(RATE, slowed.map(|slowed| n(slowed.rate_milli)))
        .set_or_remove(HALVED_AT, slowed.map(|slowed| ms(slowed.halved_at)))
        .set_or_remove(CHANGED_AT, slowed.map(|slowed| ms(slowed.changed_at)))
}

/// Holds if the rate is unchanged.
fn is_still(seen: &Pace, and: &str) -> Condition {
    match seen.slowed {
        None => Condition::new(&format!("attribute_not_exists(#rate_milli){and}")),
        Some(slowed) => Condition::new(&format!(
            "#rate_milli = :rate AND #changed_at = :changed_at{and}"
        ))
        .with("rate", n(slowed.rate_milli))
        .with("changed_at", ms(slowed.changed_at)),
    }
}

fn read(item: Item) -> Result<Pace> {
    let stored: Stored = from_item(item, "the pace of a webhook")?;
    Ok(Pace {
        free_at_us: stored.tat,
        slowed: stored.rate_milli.map(|rate_milli| Slowed {
            rate_milli,
            halved_at: stored.halved_at,
            changed_at: stored.changed_at,
        }),
    })
}
