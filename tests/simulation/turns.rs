//! Many retries of one webhook that are due at once: the functions' real code with a real database, in virtual time, and
//! how many queue messages that takes.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use postrider_domain::delivery::Status;
use postrider_domain::retry::RetrySettings;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::chores::Chores;
use postrider_gateway::poll::Poll;
use postrider_gateway::worker::queue::{Handled, QueueWorker};
use postrider_ports::clock::Clock;
use postrider_ports::queue::Queue;

use super::delayed_queue::DelayedQueue;
use super::receiver::most_in_a_second;
use super::stage::{Stage, publish, webhook};
use super::{FUNCTION_TIMEOUT, GRACE, MINUTE_MS};

/// How many messages a dispatcher handles at once.
const BATCH: usize = 10;
const MINUTE: Millis = Millis::new(MINUTE_MS);
/// How far ahead the poller gives turns to rows that were set aside.
const RELEASED_AHEAD: Millis = Millis::from_seconds(90);
/// When dispatchers stall, if they do.
const STALLS_AFTER: Millis = Millis::from_seconds(100);
/// Far longer than any simulation takes.
const HOURS: u64 = 24;

/// The result.
#[derive(Clone, Debug)]
pub struct Turns {
    /// How many retries were due at once.
    pub retries: usize,
    /// The configured rate.
    pub rate: u32,
    /// How many were delivered.
    pub delivered: usize,
    /// All messages, starting with those of the first retries.
    pub messages: usize,
    /// The most messages of one delivery.
    pub most_messages: usize,
    /// How often a message moved its row.
    pub moves: usize,
    /// How often a message had no effect.
    pub needless: usize,
    /// The most requests within any one second.
    pub most_in_a_second: usize,
    /// How long it took.
    pub took: Millis,
}

struct Functions {
    stage: Stage,
    queue: Arc<DelayedQueue>,
    messages: QueueWorker,
    poll: Poll,
    chores: Chores,
    tick_at: Timestamp,
    /// While no messages are handled.
    stall: Range<Timestamp>,
    moves: usize,
    needless: usize,
}

impl Functions {
    fn start(lag: Millis) -> Self {
        let stage = Stage::set();
        let queue = Arc::new(DelayedQueue::new(Arc::clone(&stage.clock), lag));
        let line = Arc::clone(&queue) as Arc<dyn Queue>;
        let messages = QueueWorker::new(
            stage.ports.clone(),
            stage.dispatcher(),
            Arc::clone(&stage.webhook_cache),
            Arc::clone(&line),
            // The store treats the leases of processes that it does not know as expired.
            stage.store.process().to_owned(),
        );
        let clock = Arc::clone(&stage.clock) as Arc<dyn Clock>;
        let backlog = Arc::clone(&stage.ports.store);
        Self {
            poll: Poll::new(backlog, Arc::clone(&line), clock, GRACE),
            chores: Chores::new(stage.ports.clone(), line, RELEASED_AHEAD),
            tick_at: stage.clock.now().plus(MINUTE),
            stall: Timestamp::ZERO..Timestamp::ZERO,
            stage,
            queue,
            messages,
            moves: 0,
            needless: 0,
        }
    }

    /// Handles all visible messages.
    async fn dispatch(&mut self) {
        loop {
            let taken = self.queue.take(BATCH);
            if taken.is_empty() {
                return;
            }
            let deadline = self.stage.clock.now().plus(FUNCTION_TIMEOUT);
            for handled in self.messages.handle(taken, deadline).await {
                match handled.unwrap() {
                    Handled::Attempted => {}
                    Handled::Postponed => self.moves += 1,
                    Handled::SentAgain | Handled::Probed | Handled::Dropped(_) => {
                        self.needless += 1;
                    }
                }
            }
        }
    }

    /// Moves to the next message or tick of the poller.
    async fn step(&mut self) {
        let mut next = self.queue.next_at().unwrap_or(self.tick_at);
        if self.stall.contains(&next.max(self.stage.clock.now())) {
            next = self.stall.end;
        }
        let now = self.stage.clock.now().max(next.min(self.tick_at));
        self.stage.clock.set(now);
        if !self.stall.contains(&now) {
            self.dispatch().await;
        }
        if now >= self.tick_at {
            let deadline = now.plus(FUNCTION_TIMEOUT);
            self.poll.tick(Some(self.tick_at), deadline).await;
            self.chores.turn_until(deadline).await;
            self.tick_at = self.tick_at.plus(MINUTE);
        }
    }
}

/// This many deliveries fail at the same time, their retries are due at the same time, and by then the receiver is healthy.
///
/// # Panics
/// When the gateway does not do its work.
pub async fn retries_at_once(retries: usize, rate: u32) -> Turns {
    play(retries, rate, Hindrance::default()).await
}

/// The same with a queue that delays every message this much.
///
/// # Panics
/// When the gateway does not do its work.
pub async fn retries_in_a_late_queue(retries: usize, rate: u32, lag: Millis) -> Turns {
    let stall = Millis::ZERO;
    play(retries, rate, Hindrance { lag, stall }).await
}

/// The same, but after some minutes no messages are handled for this long, while the poller continues.
///
/// # Panics
/// When the gateway does not do its work.
pub async fn retries_and_a_stall(retries: usize, rate: u32, stall: Millis) -> Turns {
    let lag = Millis::ZERO;
    play(retries, rate, Hindrance { lag, stall }).await
}

/// What went wrong.
#[derive(Clone, Copy, Default)]
struct Hindrance {
    lag: Millis,
    stall: Millis,
}

async fn play(retries: usize, rate: u32, Hindrance { lag, stall }: Hindrance) -> Turns {
    let mut functions = Functions::start(lag);
    let gateway = functions.stage.gateway(Arc::clone(&functions.queue) as _);
    let webhook = webhook(&gateway, rate, RetrySettings::default()).await;
    functions.stage.receiver.answer(500);
    let ids = publish(&gateway, webhook, retries).await;
    functions.queue.take_sent();
    functions.stage.clock.advance(lag);
    functions.dispatch().await;
    functions.stage.receiver.take_arrivals();
    functions.stage.receiver.answer(200);
    let from = functions.queue.next_at().unwrap();
    let stalls_at = from.plus(STALLS_AFTER);
    functions.stall = stalls_at..stalls_at.plus(stall);
    let end = from.plus(Millis::from_seconds(HOURS * 3600));
    while functions.stage.receiver.taken().0 < retries && functions.stage.clock.now() < end {
        functions.step().await;
    }
    let asked = functions.stage.receiver.take_arrivals();
    let sent = functions.queue.take_sent();
    Turns {
        retries,
        rate,
        delivered: functions.stage.count(&ids, Status::Delivered).await,
        messages: sent.values().sum(),
        most_messages: sent.values().copied().max().unwrap_or(0),
        moves: functions.moves,
        needless: functions.needless,
        most_in_a_second: most_in_a_second(&asked),
        took: asked.last().copied().unwrap_or(from).since(from),
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = self.messages * 100 / self.retries.max(1);
        writeln!(
            f,
            "{} retries due at once, at {}/s",
            self.retries, self.rate
        )?;
        writeln!(
            f,
            "  messages  {}.{:02} per delivery, {} at most; {} caused a move, {} nothing",
            hundredths / 100,
            hundredths % 100,
            self.most_messages,
            self.moves,
            self.needless
        )?;
        write!(
            f,
            "  delivered {} within {}; {} requests in the busiest second",
            self.delivered, self.took, self.most_in_a_second
        )
    }
}
