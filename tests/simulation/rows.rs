//! Waiting rows, eight bytes each: when they are due, and when a dispatcher got their message.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::delivery::Lane;
use postrider_domain::ids::{DeliveryId, EventId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::backlog::{Backlog, Rows as Page, Stretch};
use postrider_ports::clock::Clock;
use postrider_ports::history::Cursor;
use postrider_ports::queue::AttemptMessage;

use super::Scenario;
use super::time::VirtualClock;

/// How long one page of an index query is assumed to take.
pub const PAGE_TAKES: Millis = Millis::new(15);
/// As in the store on AWS.
const SHARDS: usize = 16;
/// Its message was not handled yet.
const NEVER: u32 = u32::MAX;

/// The rows of one shard by when they are due, in milliseconds after the beginning.
struct Shard {
    due: Vec<u32>,
    messaged: Vec<u32>,
    /// All rows before it were attempted.
    first_open: usize,
}

/// All rows.
pub(super) struct Rows {
    start: Timestamp,
    shards: Vec<Mutex<Shard>>,
    doubled: Mutex<usize>,
    clock: Arc<VirtualClock>,
}

impl Rows {
    /// Rows that become due at random times, from `first_due` after the start.
    pub(super) fn spread(
        scenario: Scenario,
        start: Timestamp,
        first_due: Millis,
        clock: Arc<VirtualClock>,
    ) -> Self {
        let span = scenario.minutes * 60_000;
        let mut due: Vec<Vec<u32>> = vec![Vec::new(); SHARDS];
        for n in 0..scenario.rows {
            let chance = mix(n as u64);
            let at = first_due.get() + chance % span;
            due[n % SHARDS].push(u32::try_from(at).expect("days fit"));
        }
        let shards = due.into_iter().map(|mut due| {
            due.sort_unstable();
            Mutex::new(Shard {
                messaged: vec![NEVER; due.len()],
                due,
                first_open: 0,
            })
        });
        Self {
            start,
            shards: shards.collect(),
            doubled: Mutex::new(0),
            clock,
        }
    }

    /// Records that a dispatcher gets this message at `at` and attempts the row.
    pub(super) fn messaged(&self, message: &AttemptMessage, at: Timestamp) {
        let (shard, row) = place(message.id.event);
        let mut shard = self.shards[shard].lock();
        let at = self.offset(at);
        if shard.messaged[row] != NEVER {
            *self.doubled.lock() += 1;
        }
        shard.messaged[row] = shard.messaged[row].min(at);
    }

    /// How late each row's first message was, in milliseconds; and how many got none.
    pub(super) fn lateness(&self) -> (Vec<u32>, usize) {
        let mut late = Vec::new();
        let mut forgotten = 0;
        for shard in &self.shards {
            let shard = shard.lock();
            for (due, messaged) in shard.due.iter().zip(&shard.messaged) {
                match *messaged {
                    NEVER => forgotten += 1,
                    at => late.push(at.saturating_sub(*due)),
                }
            }
        }
        (late, forgotten)
    }

    pub(super) fn doubled(&self) -> usize {
        *self.doubled.lock()
    }

    fn offset(&self, at: Timestamp) -> u32 {
        u32::try_from(at.since(self.start).get()).unwrap_or(NEVER - 1)
    }

    fn page(&self, stretch: Stretch, limit: usize, after: Option<usize>) -> Page {
        let now = self.offset(self.clock.now());
        let (from, to) = (self.offset(stretch.from), self.offset(stretch.to));
        let number = usize::from(stretch.shard);
        let mut shard = self.shards[number].lock();
        while shard
            .messaged
            .get(shard.first_open)
            .is_some_and(|at| *at <= now)
        {
            shard.first_open += 1;
        }
        let begin = shard.due.partition_point(|due| *due < from);
        let begin = begin
            .max(shard.first_open)
            .max(after.map_or(0, |row| row + 1));
        let (mut messages, mut next) = (Vec::new(), None);
        for row in begin..shard.due.len() {
            if shard.due[row] >= to {
                break;
            }
            if shard.messaged[row] <= now {
                continue;
            }
            if messages.len() == limit {
                next = Some(Cursor((row - 1).to_string()));
                break;
            }
            messages.push(AttemptMessage {
                tenant: TenantId::default(),
                id: id(number, row),
                next_retry_at: self.start.plus(Millis::new(u64::from(shard.due[row]))),
                fresh: false,
            });
        }
        Page { messages, next }
    }
}

#[async_trait]
impl Backlog for Rows {
    fn shards(&self) -> u16 {
        u16::try_from(self.shards.len()).expect("few shards")
    }

    async fn rows_between(
        &self,
        stretch: Stretch,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page> {
        self.clock
            .sleep_until(self.clock.now().plus(PAGE_TAKES))
            .await;
        let after = after.map(|cursor| cursor.0.parse().expect("our own cursor"));
        Ok(match stretch.lane {
            Lane::Waiting => self.page(stretch, limit, after),
            Lane::Queued | Lane::Backlog => Page {
                messages: Vec::new(),
                next: None,
            },
        })
    }
}

/// A row's id encodes its position.
fn id(shard: usize, row: usize) -> DeliveryId {
    DeliveryId {
        event: EventId::from_bytes((((shard as u128) << 64) | row as u128).to_be_bytes()),
        webhook: WebhookId::from_bytes([7; 16]),
    }
}

fn place(event: EventId) -> (usize, usize) {
    let whole = u128::from_be_bytes(*event.as_bytes());
    let part = |bits: u128| usize::try_from(bits & u128::from(u64::MAX)).expect("a place");
    (part(whole >> 64), part(whole))
}

/// Numbers that look random and are the same in every run.
pub(super) fn mix(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 31)
}
