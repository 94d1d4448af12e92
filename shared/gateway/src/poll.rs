//! The poller: sends the queue messages of rows that were too far ahead and are due soon, and those that were lost.
//! It keeps no state between ticks.

pub mod backlogs;
mod rules;
pub mod sweeps;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use futures_util::StreamExt;
use futures_util::stream;
use postrider_domain::delivery::Lane;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::backlog::{Backlog, Stretch};
use postrider_ports::clock::Clock;
use postrider_ports::queue::{AttemptMessage, Queue};
use tokio::select;

use crate::poll::rules::{Depth, Overdue, Span};
use crate::telemetry;

/// With more messages than this the queue counts as deep: overdue rows are probably waiting in it.
const DEEP: u64 = 20_000;
/// How many overdue rows a tick pokes (sends again) while the queue is deep.
const POKES_WHEN_DEEP: usize = 1000;
const PAGE: usize = 1000;
/// How many shards are read at the same time: enough to keep a function busy, few enough for its connections.
const SHARDS_AT_ONCE: usize = 8;
/// How long before its deadline a tick ends, to leave time for the report and for chores.
const STOP_BEFORE: Millis = Millis::from_seconds(5);

pub struct Poll {
    backlog: Arc<dyn Backlog>,
    queue: Arc<dyn Queue>,
    clock: Arc<dyn Clock>,
    grace: Millis,
}

/// The result of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticked {
    pub messages_sent: usize,
    pub messages_failed: usize,
    /// How long ago the oldest open row was due. Zero if no row is overdue by more than the grace.
    pub oldest_due_age: Millis,
    /// `None` if the queue could not be asked.
    pub queue_depth: Option<u64>,
    pub ended: Ended,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All rows were read and all their messages sent.
    Complete,
    /// Something failed. The same tick should run again: a message sent twice is harmless.
    Failed,
    /// The deadline passed. A second run would get no further; the remaining rows are poked when their grace is over.
    OutOfTime,
}

/// The counters of a running tick.
#[derive(Default)]
struct Counts {
    sent: AtomicUsize,
    failed: AtomicUsize,
    oldest_age_ms: AtomicU64,
    broken: AtomicBool,
}

/// A stretch to read, and which of its rows get a message: all, or those that a rule selects.
struct Walk {
    stretch: Stretch,
    overdue: Option<Overdue>,
}

impl Poll {
    /// Rows overdue by more than `grace` are poked.
    #[must_use]
    pub fn new(
        backlog: Arc<dyn Backlog>,
        queue: Arc<dyn Queue>,
        clock: Arc<dyn Clock>,
        grace: Millis,
    ) -> Self {
        Self {
            backlog,
            queue,
            clock,
            grace,
        }
    }

    /// Runs the tick of a minute. A late or repeated tick sends the messages of the minute it was scheduled for.
    pub async fn tick(&self, scheduled_at: Option<Timestamp>, deadline: Timestamp) -> Ticked {
        let counts = Counts::default();
        let queue_depth = self.depth().await;
        let work = self.work(scheduled_at, queue_depth, &counts);
        let in_time = select! {
            biased;
            () = work => true,
            () = self.clock.sleep_until(deadline.minus(STOP_BEFORE)) => false,
        };
        let messages_failed = counts.failed.load(Ordering::Relaxed);
        let failed = messages_failed > 0 || counts.broken.load(Ordering::Relaxed);
        let ticked = Ticked {
            messages_sent: counts.sent.load(Ordering::Relaxed),
            messages_failed,
            oldest_due_age: Millis::new(counts.oldest_age_ms.load(Ordering::Relaxed)),
            queue_depth,
            ended: match (in_time, failed) {
                (false, _) => Ended::OutOfTime,
                (true, true) => Ended::Failed,
                (true, false) => Ended::Complete,
            },
        };
        telemetry::ticked(&ticked);
        ticked
    }

    async fn depth(&self) -> Option<u64> {
        match self.queue.depth().await {
            Ok(depth) => Some(depth),
            Err(error) => {
                telemetry::poll_failed("depth", &error);
                None
            }
        }
    }

    async fn work(&self, scheduled_at: Option<Timestamp>, depth: Option<u64>, counts: &Counts) {
        let now = self.clock.now();
        let scheduled_at = rules::scheduled(scheduled_at, now);
        let window = rules::window(scheduled_at);
        let upcoming = self.shards().map(|shard| Walk {
            stretch: stretch(shard, Lane::Waiting, window),
            overdue: None,
        });
        self.walk_all(upcoming.collect(), None, counts).await;
        // A queue that could not be asked may be deep, but nothing else finds rows whose message was lost.
        let (depth, pokes) = match depth {
            Some(depth) if depth > DEEP => (Depth::Deep, Some(AtomicUsize::new(POKES_WHEN_DEEP))),
            Some(_) | None => (Depth::Usual, None),
        };
        let rule = Overdue::new(scheduled_at, now, self.grace, depth);
        let late = self.shards().flat_map(|shard| {
            [Lane::Queued, Lane::Waiting].map(|lane| Walk {
                stretch: stretch(shard, lane, rule.span()),
                overdue: Some(rule),
            })
        });
        self.walk_all(late.collect(), pokes.as_ref(), counts).await;
    }

    fn shards(&self) -> impl Iterator<Item = u16> + use<> {
        0..self.backlog.shards()
    }

    /// Reads stretches concurrently. An error in one is logged and does not stop the others.
    async fn walk_all(&self, walks: Vec<Walk>, pokes: Option<&AtomicUsize>, counts: &Counts) {
        stream::iter(walks)
            .for_each_concurrent(SHARDS_AT_ONCE, |walk| async {
                if let Err(error) = self.walk(walk, pokes, counts).await {
                    telemetry::poll_failed("rows", &error);
                    counts.broken.store(true, Ordering::Relaxed);
                }
            })
            .await;
    }

    async fn walk(&self, walk: Walk, pokes: Option<&AtomicUsize>, counts: &Counts) -> Result<()> {
        let Walk {
            mut stretch,
            overdue,
        } = walk;
        let mut after = None;
        loop {
            let mut page = self
                .backlog
                .rows_between(stretch, PAGE, after.as_ref())
                .await?;
            let last_due_at = page.messages.last().map(|message| message.next_retry_at);
            if let Some(rule) = overdue {
                self.note_oldest(page.messages.first(), counts);
                page.messages
                    .retain(|message| rule.wants(message.next_retry_at));
            }
            page.messages.truncate(allowed(pokes, page.messages.len()));
            self.send(page.messages, counts).await;
            if page.next.is_none() || pokes.is_some_and(|left| left.load(Ordering::Relaxed) == 0) {
                return Ok(());
            }
            after = page.next;
            if let (Some(rule), Some(last)) = (overdue, last_due_at) {
                match rule.next_wanted(last) {
                    None => return Ok(()),
                    Some(at) if at > last => (stretch.from, after) = (at, None),
                    Some(_) => {}
                }
            }
        }
    }

    fn note_oldest(&self, first: Option<&AttemptMessage>, counts: &Counts) {
        if let Some(message) = first {
            let age = self.clock.now().since(message.next_retry_at);
            counts.oldest_age_ms.fetch_max(age.get(), Ordering::Relaxed);
        }
    }

    async fn send(&self, messages: Vec<AttemptMessage>, counts: &Counts) {
        if messages.is_empty() {
            return;
        }
        let mut first_error = None;
        let messages = messages.into_iter().map(Into::into).collect();
        for sent in self.queue.send(messages).await {
            match sent {
                Ok(()) => counts.sent.fetch_add(1, Ordering::Relaxed),
                Err(error) => {
                    first_error.get_or_insert(error);
                    counts.failed.fetch_add(1, Ordering::Relaxed)
                }
            };
        }
        if let Some(error) = first_error {
            telemetry::poll_failed("messages", &error);
        }
    }
}

const fn stretch(shard: u16, lane: Lane, span: Span) -> Stretch {
    Stretch {
        shard,
        lane,
        from: span.from,
        to: span.to,
    }
}

/// Takes up to `wanted` of the pokes that are left.
fn allowed(left: Option<&AtomicUsize>, wanted: usize) -> usize {
    let Some(left) = left else {
        return wanted;
    };
    let take = |left: usize| Some(left.saturating_sub(wanted));
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    before.unwrap_or_else(|left| left).min(wanted)
}
