//! Finds backlogs that nothing drains: a `drain` message was lost, a drainer died, or rows are due that no message names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use postrider_domain::delivery::MESSAGE_REACH;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::drains::Registration;
use postrider_ports::limiters::{Stored, WebhookFlow};
use postrider_ports::queue::{DrainMessage, Queue, QueueMessage};
use postrider_ports::{BacklogStore, Result};
use tokio::select;

use crate::telemetry;

const PAGE: usize = 100;
const SHARDS_AT_ONCE: usize = 8;
/// How many `drain` messages of a page are noted at the same time.
const NOTES_AT_ONCE: usize = 16;
/// A `drain` message that should have arrived this long ago is lost. Until then it may be waiting behind others.
const LOST_AFTER: Millis = Millis::from_seconds(180);
/// Rows that are due before the next tick but one.
const SOON: Millis = Millis::from_seconds(120);
const MINUTE_MS: i64 = 60_000;

pub struct Backlogs {
    store: Arc<dyn BacklogStore>,
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
}

/// The result of a look at all backlogs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogsSeen {
    pub backlogs: usize,
    pub drains_sent: usize,
    /// How long ago the oldest row was due that waits for an active webhook.
    pub oldest_due_age: Millis,
    /// Whether all of them were seen. If not, the next tick begins elsewhere.
    pub is_complete: bool,
}

#[derive(Default)]
struct Counts {
    backlogs: AtomicUsize,
    drains_sent: AtomicUsize,
    oldest_age_ms: AtomicU64,
    broken: AtomicBool,
}

impl Backlogs {
    #[must_use]
    pub fn new(store: Arc<dyn BacklogStore>, queue: Arc<dyn Queue>, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            queue,
            clock,
        }
    }

    /// Looks at all registered backlogs, until `deadline`.
    pub async fn look(&self, deadline: Timestamp) -> BacklogsSeen {
        let counts = Counts::default();
        let in_time = select! {
            biased;
            () = self.walk(&counts) => true,
            () = self.clock.sleep_until(deadline) => false,
        };
        let seen = BacklogsSeen {
            backlogs: counts.backlogs.load(Ordering::Relaxed),
            drains_sent: counts.drains_sent.load(Ordering::Relaxed),
            oldest_due_age: Millis::new(counts.oldest_age_ms.load(Ordering::Relaxed)),
            is_complete: in_time && !counts.broken.load(Ordering::Relaxed),
        };
        telemetry::backlogs_seen(&seen);
        seen
    }

    async fn walk(&self, counts: &Counts) {
        // Another shard goes first each minute: if there is no time for all, none is left out for long.
        let shards = self.store.shards().max(1);
        let minute = self.clock.now().as_millis().div_euclid(MINUTE_MS);
        let first = u16::try_from(minute.rem_euclid(i64::from(shards))).unwrap_or(0);
        let shards = (0..shards).map(|n| (n + first) % shards);
        stream::iter(shards)
            .for_each_concurrent(SHARDS_AT_ONCE, |shard| async move {
                if let Err(error) = self.walk_shard(shard, counts).await {
                    telemetry::poll_failed("backlogs", &error);
                    counts.broken.store(true, Ordering::Relaxed);
                }
            })
            .await;
    }

    async fn walk_shard(&self, shard: u16, counts: &Counts) -> Result<()> {
        let mut after = None;
        loop {
            let page = self
                .store
                .registrations(shard, PAGE, after.as_ref())
                .await?;
            self.look_at(page.items, counts).await?;
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    async fn look_at(&self, registrations: Vec<Registration>, counts: &Counts) -> Result<()> {
        let named = registrations
            .iter()
            .map(|one| (one.tenant.clone(), one.webhook));
        let flows = self.store.flows(&named.collect::<Vec<_>>()).await?;
        let now = self.clock.now();
        let mut asks = Vec::new();
        for (registration, flow) in registrations.into_iter().zip(flows) {
            counts.backlogs.fetch_add(1, Ordering::Relaxed);
            let Some(flow) = flow else {
                // The webhook was deleted. Its rows are found by another index, and ended.
                self.store.unregister_backlog(&registration).await?;
                continue;
            };
            if flow.status.is_stopped() {
                continue;
            }
            counts.note_oldest(&flow, now);
            if needs_drain(&registration, &flow, now) {
                asks.push(self.ask(registration, flow, now));
            }
        }
        let asked: Vec<_> = stream::iter(asks)
            .buffer_unordered(NOTES_AT_ONCE)
            .collect()
            .await;
        // What was noted is sent, even if something else could not be noted.
        let (mut messages, mut failed) = (Vec::new(), Ok(()));
        for one in asked {
            match one {
                Ok(message) => messages.extend(message),
                Err(error) => failed = Err(error),
            }
        }
        if !messages.is_empty() {
            let sent = self.queue.send(messages).await;
            let sent = sent.iter().filter(|sent| sent.is_ok()).count();
            counts.drains_sent.fetch_add(sent, Ordering::Relaxed);
        }
        failed
    }

    /// The message to send, unless another process has just sent one.
    async fn ask(
        &self,
        registration: Registration,
        flow: WebhookFlow,
        now: Timestamp,
    ) -> Result<Option<QueueMessage>> {
        let Registration {
            tenant, webhook, ..
        } = registration;
        let seen = flow.drain.asked_for;
        let noted = self
            .store
            .ask_for_drain(&tenant, webhook, seen, now)
            .await?;
        let message = DrainMessage {
            tenant,
            webhook,
            not_before: now,
        };
        Ok((noted == Stored::Done).then(|| message.into()))
    }
}

impl Counts {
    fn note_oldest(&self, flow: &WebhookFlow, now: Timestamp) {
        let due_at = flow.drain.looked.and_then(|looked| looked.first_due_at);
        let age = due_at.map_or(Millis::ZERO, |due_at| now.since(due_at));
        self.oldest_age_ms.fetch_max(age.get(), Ordering::Relaxed);
    }
}

/// Whether the backlog of an active webhook has to be looked at, and nothing is about to do that.
fn needs_drain(registration: &Registration, flow: &WebhookFlow, now: Timestamp) -> bool {
    let drain = &flow.drain;
    if drain.is_leased(now) || drain.is_expected(now, LOST_AFTER, MESSAGE_REACH) {
        return false;
    }
    let Some(looked) = drain.looked else {
        return true;
    };
    let is_due = looked.first_due_at.is_some_and(|at| at <= now.plus(SOON));
    // Until a look has seen all that was written for the registration, there may be unknown rows; and an empty
    // backlog is looked at once more, to be removed.
    flow.is_limited()
        || is_due
        || looked.first_due_at.is_none()
        || !registration.is_settled(looked.at)
        || looked.at > now
}

#[cfg(test)]
mod tests {
    use postrider_domain::flow::Limiter;
    use postrider_domain::health::WebhookStatus;
    use postrider_ports::drains::{DrainLease, DrainState, Looked};

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn ago(seconds: u64) -> Timestamp {
        NOW.minus(Millis::from_seconds(seconds))
    }

    fn ahead(seconds: u64) -> Timestamp {
        NOW.plus(Millis::from_seconds(seconds))
    }

    fn registration(touched_at: Timestamp) -> Registration {
        Registration {
            tenant: postrider_domain::ids::TenantId::default(),
            webhook: postrider_domain::ids::WebhookId::from_bytes([1; 16]),
            touched_at,
        }
    }

    fn flow(drain: DrainState) -> WebhookFlow {
        WebhookFlow {
            status: WebhookStatus::Active,
            limiter: Limiter::default(),
            capped: false,
            failed_in_a_row: 0,
            drain,
        }
    }

    fn looked(at: Timestamp, first_due_at: Option<Timestamp>) -> DrainState {
        DrainState {
            looked: Some(Looked { at, first_due_at }),
            ..DrainState::default()
        }
    }

    fn needs(touched_at: Timestamp, drain: DrainState) -> bool {
        needs_drain(&registration(touched_at), &flow(drain), NOW)
    }

    #[test]
    fn a_backlog_is_drained_unless_a_drain_runs_or_is_on_its_way() {
        assert!(needs(NOW, DrainState::default()));
        let lease = |taken_at| DrainState {
            lease: Some(DrainLease {
                owner: "a".to_owned(),
                taken_at,
            }),
            ..DrainState::default()
        };
        assert!(!needs(NOW, lease(ago(60))) && needs(NOW, lease(ago(61))));
        assert!(
            needs(NOW, lease(ahead(86_400))),
            "of a clock that ran ahead"
        );
        let asked = |at| DrainState {
            asked_for: Some(at),
            ..DrainState::default()
        };
        assert!(!needs(NOW, asked(ago(180))) && needs(NOW, asked(ago(181))));
        assert!(!needs(NOW, asked(ahead(900))) && needs(NOW, asked(ahead(901))));
    }

    #[test]
    fn rows_that_are_due_much_later_are_left_alone_once_nothing_else_can_appear() {
        let later = Some(ahead(3600));
        assert!(needs(ago(600), looked(NOW, later)), "not settled");
        assert!(!needs(ago(601), looked(NOW, later)));
        assert!(needs(ago(601), looked(NOW, Some(ahead(120)))));
        assert!(needs(ago(601), looked(NOW, None)), "to be removed");
        let limited = WebhookFlow {
            limiter: Limiter {
                limited: true,
                ..Limiter::default()
            },
            ..flow(looked(NOW, later))
        };
        assert!(needs_drain(&registration(ago(601)), &limited, NOW));
    }
}
