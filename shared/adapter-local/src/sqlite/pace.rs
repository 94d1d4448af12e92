//! Turns, handed out one after the other.

use async_trait::async_trait;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::pace::Pace;
use rusqlite::params;

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec};

const SECOND_US: i64 = 1_000_000;
const MILLI_US: i64 = 1_000;

#[async_trait]
impl Pace for SqliteStore {
    async fn reserve(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        count: usize,
        per_second: u32,
        now: Timestamp,
    ) -> Result<Vec<Timestamp>> {
        let tenant = tenant.clone();
        self.writer
            .write(move |tx| reserve(tx, &tenant, webhook, count, per_second, now))
            .await
    }
}

fn reserve(
    tx: &Tx<'_>,
    tenant: &TenantId,
    webhook: WebhookId,
    count: usize,
    per_second: u32,
    now: Timestamp,
) -> std::result::Result<Vec<Timestamp>, Fault> {
    let webhook = webhook.to_string();
    let free_at = codec::first(
        &mut *tx.statement("SELECT free_at_us FROM pace WHERE tenant = ?1 AND webhook_id = ?2")?,
        &[&tenant.as_str(), &webhook],
        |row| Ok(row.get::<_, i64>(0)?),
    )?;
    let (turns, next_free_at) = turns(free_at, count, per_second, now);
    tx.execute(
        "INSERT OR REPLACE INTO pace (tenant, webhook_id, free_at_us) VALUES (?1, ?2, ?3)",
        params![tenant.as_str(), webhook, next_free_at],
    )?;
    Ok(turns)
}

/// The turns, and when the next one is free, in microseconds.
fn turns(
    free_at: Option<i64>,
    count: usize,
    per_second: u32,
    now: Timestamp,
) -> (Vec<Timestamp>, i64) {
    let step = SECOND_US / i64::from(per_second.max(1));
    let now_us = now.as_millis().saturating_mul(MILLI_US);
    let mut next = free_at.unwrap_or(now_us).max(now_us);
    let mut turns = Vec::with_capacity(count);
    for _ in 0..count {
        // Rounded up: a turn is never taken before it comes.
        turns.push(Timestamp::from_millis(
            next.saturating_add(MILLI_US - 1).div_euclid(MILLI_US),
        ));
        next = next.saturating_add(step);
    }
    (turns, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_turns_at_three_a_second_take_three_hundred_thirty_three_seconds() {
        let now = Timestamp::from_millis(1_000);
        let (turns, free_at) = turns(None, 1_000, 3, now);
        assert_eq!(turns[0], now);
        assert_eq!(turns[999].since(now).get(), 333_000);
        assert_eq!(free_at, 334_333_000);
    }

    #[test]
    fn unused_turns_do_not_pile_up() {
        let (first, free_at) = turns(None, 1, 5, Timestamp::from_millis(0));
        let (later, _) = turns(Some(free_at), 2, 5, Timestamp::from_millis(10_000));
        assert_eq!(
            (
                first[0].as_millis(),
                later[0].as_millis(),
                later[1].as_millis()
            ),
            (0, 10_000, 10_200)
        );
    }

    #[test]
    fn the_highest_rate_has_ten_turns_in_a_millisecond() {
        let (turns, _) = turns(None, 20, 10_000, Timestamp::from_millis(7));
        assert_eq!(turns[19].as_millis(), 9);
    }
}
