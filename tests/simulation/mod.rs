//! The gateway's real code in virtual time.
//!
//! The poller at scale, with millions of rows in memory and a queue with assumed latencies; and, with a real database, a
//! receiver that recovers after a day.

mod backlogs;
mod outage;
mod plot;
mod queue;
mod receiver;
mod rows;
mod stage;
mod table;
mod time;

use std::fmt;
use std::sync::Arc;

use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::poll::Poll;
use postrider_ports::clock::Clock;

use queue::AssumedQueue;
use rows::Rows;
use time::VirtualClock;

pub use backlogs::{
    Drained, FleetRecovery, FleetSize, Operator, OwnLimits, QueueFault, RATE, Shared, TooLate,
    Trouble, claim_too_late, drain_backlog, drain_first_attempts, drain_unreadable,
    left_by_the_poller, looks_for_a_round, page_too_late, recover_from_outage, share_with_hanging,
};
pub use outage::{Recovery, a_day_down};
pub use queue::HINTS_PER_SECOND;
pub use rows::PAGE_TAKES;
pub use table::rows as table_rows;

/// On the minute.
const START: Timestamp = Timestamp::from_millis(1_771_668_000_000);
const MINUTE_MS: u64 = 60_000;
/// No row is due sooner: rows due sooner already have their message.
const FIRST_DUE: Millis = Millis::from_seconds(960);
/// The timeout of the function in the template.
const FUNCTION_TIMEOUT: Millis = Millis::from_seconds(55);
const GRACE: Millis = Millis::from_seconds(180);

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// How many rows wait.
    pub rows: usize,
    /// Over how many minutes they become due.
    pub minutes: u64,
}

/// The result.
#[derive(Clone, Debug)]
pub struct Outcome {
    scenario: Scenario,
    /// How late half of the messages were at most.
    pub p50: Millis,
    /// How late 99 of 100 were at most.
    pub p99: Millis,
    /// How late the last one was.
    pub max: Millis,
    /// Rows that never got a message.
    pub forgotten: usize,
    /// Messages beyond the first of a row.
    pub doubled: usize,
    /// The most messages of one tick.
    pub most_in_a_tick: usize,
    ticks: usize,
    sent: usize,
    longest_tick: Millis,
}

/// Runs a scenario to its end: a tick each minute, none of them punctual, some minutes late.
#[must_use]
pub fn simulate(scenario: Scenario) -> Outcome {
    let clock = Arc::new(VirtualClock::at(START));
    let rows = Arc::new(Rows::spread(scenario, START, FIRST_DUE, Arc::clone(&clock)));
    let queue = Arc::new(AssumedQueue::new(Arc::clone(&rows), Arc::clone(&clock)));
    let poll = Poll::new(
        Arc::clone(&rows) as _,
        queue,
        Arc::clone(&clock) as _,
        GRACE,
    );
    let mut ticks: Vec<_> = (0..scenario.minutes + FIRST_DUE.get() / MINUTE_MS + 15)
        .map(|minute| {
            let scheduled_at = START.plus(Millis::new(minute * MINUTE_MS));
            (scheduled_at.plus(stray(minute)), scheduled_at)
        })
        .collect();
    ticks.sort();
    let (mut sent, mut most_in_a_tick, mut longest_tick) = (0, 0, Millis::ZERO);
    for (starts_at, scheduled_at) in &ticks {
        clock.reach(*starts_at);
        let began_at = clock.now();
        let deadline = began_at.plus(FUNCTION_TIMEOUT);
        let ticked = clock.run(poll.tick(Some(*scheduled_at), deadline));
        longest_tick = longest_tick.max(clock.now().since(began_at));
        most_in_a_tick = most_in_a_tick.max(ticked.messages_sent);
        sent += ticked.messages_sent;
    }
    let (mut late, forgotten) = rows.lateness();
    late.sort_unstable();
    let at = |part: usize| {
        let place = (late.len().saturating_sub(1)) * part / 100;
        Millis::new(u64::from(late.get(place).copied().unwrap_or(0)))
    };
    Outcome {
        scenario,
        p50: at(50),
        p99: at(99),
        max: at(100),
        forgotten,
        doubled: rows.doubled(),
        most_in_a_tick,
        ticks: ticks.len(),
        sent,
        longest_tick,
    }
}

/// How late a tick starts: up to five seconds, and sometimes minutes, as when it fails and is repeated.
fn stray(minute: u64) -> Millis {
    let usual = Millis::new(rows::mix(minute) % 5000);
    match minute % 20 {
        7 => usual.plus(Millis::from_seconds(60)),
        13 => usual.plus(Millis::from_seconds(180)),
        _ => usual,
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { rows, minutes } = self.scenario;
        writeln!(f, "{rows} waiting rows, due within {minutes} minutes")?;
        writeln!(
            f,
            "  late      p50 {}  p99 {}  max {}",
            self.p50, self.p99, self.max
        )?;
        writeln!(
            f,
            "  messages  {} per run on average, {} at most; {} duplicated, {} rows forgotten",
            self.sent / self.ticks.max(1),
            self.most_in_a_tick,
            self.doubled,
            self.forgotten
        )?;
        write!(
            f,
            "  ticks     {}, the longest took {}",
            self.ticks, self.longest_tick
        )
    }
}
