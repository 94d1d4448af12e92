//! Finds backlogs that nothing drains: a `drain` message was lost, a drainer died, or rows are due that no message names.
//!
//! A look that runs out of time stores how far it has come, and the next one goes on there before it begins again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use postrider_domain::delivery::MESSAGE_REACH;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::drains::{Registration, Round};
use postrider_ports::limiters::{Stored, WebhookFlow};
use postrider_ports::queue::{DrainMessage, Queue, QueueMessage};
use postrider_ports::{BacklogStore, Result};
use tokio::select;

use crate::telemetry;

const PAGE: usize = 100;
const SHARDS_AT_ONCE: usize = 8;
/// How many registrations of a page are handled at the same time.
const AT_ONCE: usize = 16;
/// No page is begun this shortly before the end: one that is interrupted may have noted messages that it did not send.
const PAGE_TAKES: Millis = Millis::from_seconds(2);
/// A `drain` message that should have arrived this long ago is lost. Until then it may be waiting behind others.
const LOST_AFTER: Millis = Millis::from_seconds(180);
/// A backlog that is never removed, because the webhook has a maximum, is looked at this often when nothing is in it: a
/// wake-up may be lost.
const IDLE_LOOK: Millis = Millis::from_seconds(300);
/// Rows that are due before the next tick but one.
const SOON: Millis = Millis::from_seconds(120);

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
    /// How many could not be read or noted. The others were.
    pub failed: usize,
    /// How long ago the oldest row was due that waits for an active webhook.
    pub oldest_due_age: Millis,
    /// Whether a round through all of them has ended. If not, the next look goes on where this one stopped.
    pub is_complete: bool,
}

#[derive(Default)]
struct Look {
    round: Mutex<Round>,
    /// When the most overdue row was due that the round has seen which ended in this look.
    oldest_of_ended: Mutex<Option<Timestamp>>,
    backlogs: AtomicUsize,
    drains_sent: AtomicUsize,
    failed: AtomicUsize,
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
        let stored = self.stored_round().await;
        let was_cut_short = !stored.left.is_empty();
        let look = Look {
            round: Mutex::new(stored),
            ..Look::default()
        };
        let is_complete = select! {
            biased;
            is_complete = self.walk(&look, deadline.minus(PAGE_TAKES)) => is_complete,
            () = self.clock.sleep_until(deadline) => false,
        };
        let (round, now) = (look.round.into_inner(), self.clock.now());
        let oldest = [look.oldest_of_ended.into_inner(), round.oldest_due_at];
        let oldest = oldest.into_iter().flatten().min();
        let seen = BacklogsSeen {
            backlogs: look.backlogs.into_inner(),
            drains_sent: look.drains_sent.into_inner(),
            failed: look.failed.into_inner(),
            oldest_due_age: oldest.map_or(Millis::ZERO, |at| now.since(at)),
            is_complete,
        };
        telemetry::backlogs_seen(&seen);
        if was_cut_short || !round.left.is_empty() {
            self.store_round(round).await;
        }
        seen
    }

    /// Without it, a look begins at the beginning.
    async fn stored_round(&self) -> Round {
        let round = self.store.round().await;
        let round = round.inspect_err(|error| telemetry::poll_failed("round", error));
        round.unwrap_or_default()
    }

    async fn store_round(&self, mut round: Round) {
        if round.left.is_empty() {
            round = Round::default();
        }
        if let Err(error) = self.store.store_round(&round).await {
            telemetry::poll_failed("round", &error);
        }
    }

    /// Ends the round that the last look began, then walks through all shards once more. Returns whether a round has ended.
    async fn walk(&self, look: &Look, until: Timestamp) -> bool {
        let shards = self.store.shards();
        let left: Vec<_> = {
            let mut round = look.round.lock();
            round.left.retain(|shard, _| *shard < shards);
            round.left.keys().copied().collect()
        };
        let ended = !left.is_empty() && self.walk_shards(left, look, until).await;
        let others = look.begin_again(shards);
        // A shard that could not be read to its end does not keep the others from being read again.
        self.walk_shards(others, look, until).await || ended
    }

    /// Walks through shards concurrently; returns whether nothing is left of the round.
    async fn walk_shards(&self, shards: Vec<u16>, look: &Look, until: Timestamp) -> bool {
        stream::iter(shards)
            .for_each_concurrent(SHARDS_AT_ONCE, |shard| async move {
                if let Err(error) = self.walk_shard(shard, look, until).await {
                    telemetry::poll_failed("backlogs", &error);
                }
            })
            .await;
        look.round.lock().left.is_empty()
    }

    async fn walk_shard(&self, shard: u16, look: &Look, until: Timestamp) -> Result<()> {
        while self.clock.now() < until {
            let after = look.round.lock().left.get(&shard).cloned().flatten();
            let page = self
                .store
                .registrations(shard, PAGE, after.as_ref())
                .await?;
            self.look_at(page.items, look).await;
            let mut round = look.round.lock();
            let Some(next) = page.next else {
                round.left.remove(&shard);
                return Ok(());
            };
            round.left.insert(shard, Some(next));
        }
        Ok(())
    }

    /// One that cannot be read does not hold up the others.
    async fn look_at(&self, registrations: Vec<Registration>, look: &Look) {
        let named = registrations
            .iter()
            .map(|one| (one.tenant.clone(), one.webhook));
        let flows = self.store.flows(&named.collect::<Vec<_>>()).await;
        let now = self.clock.now();
        look.backlogs.fetch_add(flows.len(), Ordering::Relaxed);
        let each = registrations.into_iter().zip(flows);
        let each = each.map(|(registration, flow)| async move {
            let webhook = registration.webhook;
            let handled = match flow {
                Ok(flow) => self.handle(registration, flow, look, now).await,
                Err(error) => Err(error),
            };
            handled.unwrap_or_else(|error| {
                telemetry::drain_failed(webhook, &error);
                look.failed.fetch_add(1, Ordering::Relaxed);
                None
            })
        });
        let each: Vec<_> = each.collect();
        let messages: Vec<_> = stream::iter(each)
            .buffer_unordered(AT_ONCE)
            .filter_map(|message| async { message })
            .collect()
            .await;
        if !messages.is_empty() {
            let sent = self.queue.send(messages).await;
            let sent = sent.iter().filter(|sent| sent.is_ok()).count();
            look.drains_sent.fetch_add(sent, Ordering::Relaxed);
        }
    }

    /// The message to send for a backlog, if it needs one.
    async fn handle(
        &self,
        registration: Registration,
        flow: Option<WebhookFlow>,
        look: &Look,
        now: Timestamp,
    ) -> Result<Option<QueueMessage>> {
        let Some(flow) = flow else {
            // The webhook was deleted. Its rows are found by another index, and ended.
            self.store.unregister_backlog(&registration).await?;
            return Ok(None);
        };
        if flow.status.is_stopped() {
            return Ok(None);
        }
        look.note_oldest(&flow, now);
        if !needs_drain(&registration, &flow, now) {
            return Ok(None);
        }
        self.ask(registration, flow, now).await
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

impl Look {
    /// Begins another round with the shards that are not left of the last one, and returns them. What a round has seen counts
    /// until it has ended: there may be no time to see it again.
    fn begin_again(&self, shards: u16) -> Vec<u16> {
        let mut round = self.round.lock();
        if round.left.is_empty() {
            *self.oldest_of_ended.lock() = round.oldest_due_at.take();
        }
        let others: Vec<_> = (0..shards)
            .filter(|shard| !round.left.contains_key(shard))
            .collect();
        round.left.extend(others.iter().map(|shard| (*shard, None)));
        others
    }

    fn note_oldest(&self, flow: &WebhookFlow, now: Timestamp) {
        let due_at = flow.drain.looked.and_then(|looked| looked.first_due_at);
        let Some(due_at) = due_at.filter(|at| *at < now) else {
            return;
        };
        let mut round = self.round.lock();
        round.oldest_due_at = Some(
            round
                .oldest_due_at
                .map_or(due_at, |oldest| oldest.min(due_at)),
        );
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
    // An empty backlog is looked at once more, to be removed.
    let is_empty = looked.first_due_at.is_none();
    let is_old = if flow.capped {
        now.since(looked.at) > IDLE_LOOK
    } else {
        is_empty
    };
    // Until a look has seen all that was written for the registration, there may be unknown rows.
    flow.limiter.limited
        || is_due
        || is_old
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
            generation: 0,
            updated_at: None,
            limiter: Limiter::default(),
            capped: false,
            failed_in_a_row: 0,
            credit: None,
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

    #[test]
    fn what_a_round_has_seen_counts_until_it_has_ended() {
        let look = |left: &[u16]| Look {
            round: Mutex::new(Round {
                left: left.iter().map(|shard| (*shard, None)).collect(),
                oldest_due_at: Some(ago(50)),
            }),
            ..Look::default()
        };
        let unfinished = look(&[1]);
        assert_eq!(unfinished.begin_again(3), [0, 2]);
        assert_eq!(unfinished.round.lock().oldest_due_at, Some(ago(50)));
        let ended = look(&[]);
        assert_eq!(ended.begin_again(3), [0, 1, 2]);
        assert_eq!(ended.round.lock().oldest_due_at, None);
        assert_eq!(*ended.oldest_of_ended.lock(), Some(ago(50)));
    }

    #[test]
    fn an_idle_webhook_with_a_maximum_is_looked_at_every_five_minutes() {
        let needs = |looked_at, first_due_at| {
            let capped = WebhookFlow {
                capped: true,
                ..flow(looked(looked_at, first_due_at))
            };
            needs_drain(&registration(ago(3600)), &capped, NOW)
        };
        assert!(!needs(ago(60), None) && !needs(ago(300), None));
        assert!(needs(ago(301), None));
        assert!(needs(ago(60), Some(ago(1))), "a row is due");
    }
}
