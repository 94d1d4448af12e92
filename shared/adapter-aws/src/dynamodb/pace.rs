//! Turns, handed out one after the other.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::pace::Pace;

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::item::{Item, n};
use super::keys::Key;
use crate::fault::{self, unreadable};

const SECOND_US: i64 = 1_000_000;
const MILLI_US: i64 = 1_000;

/// The next free turn, in microseconds.
const TAT: &str = "tat";

/// How often the two writes are tried: each pair fails only if somebody else's succeeded in between.
const TRIES: usize = 20;

#[async_trait]
impl Pace for DynamoStore {
    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        count: usize,
        per_second: u32,
        now: Timestamp,
    ) -> Result<Vec<Timestamp>> {
        let step = SECOND_US / i64::from(per_second.max(1));
        let span = step.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
        let now_us = now.as_millis().saturating_mul(MILLI_US);
        let pace = || Change::of(Table::Deliveries, Key::pace(tenant, webhook));
        for _ in 0..TRIES {
            let ahead = Condition::new("#tat >= :now").with("now", n(now_us));
            let queued = pace().add(TAT, n(span)).only_if(ahead);
            if let Some(item) = self.change(queued).await? {
                return Ok(turns(free_at(&item)?.saturating_sub(span), count, step));
            }
            let past = Condition::new("attribute_not_exists(#tat) OR #tat < :now");
            let afresh = pace()
                .set(TAT, n(now_us.saturating_add(span)))
                .only_if(past.with("now", n(now_us)));
            if self.change(afresh).await?.is_some() {
                return Ok(turns(now_us, count, step));
            }
        }
        Err(fault::contended("the pace of a webhook"))
    }
}

fn free_at(item: &Item) -> Result<i64> {
    let text = item.get(TAT).and_then(|value| value.as_n().ok());
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| unreadable(TAT))
}

/// The turns from `first_us` on, rounded up: a turn is never taken before it comes.
fn turns(first_us: i64, count: usize, step: i64) -> Vec<Timestamp> {
    let next = |at: &i64| Some(at.saturating_add(step));
    let turns = std::iter::successors(Some(first_us), next).take(count);
    let in_ms = |at: i64| at.saturating_add(MILLI_US - 1).div_euclid(MILLI_US);
    turns.map(|at| Timestamp::from_millis(in_ms(at))).collect()
}
