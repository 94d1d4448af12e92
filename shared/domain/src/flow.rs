//! How fast a webhook is called: the flow limiter of one webhook. Pure integer arithmetic, the same for every store.
//!
//! A webhook is normally not limited: first attempts go at once, and retries go at the limiter's rate. When the receiver
//! cannot keep up, the webhook becomes limited. Then all attempts need credit of the rate, which follows what the receiver
//! takes. It opens again when the receiver keeps up and nothing waits.

mod credit;
mod limiter;
mod limits;
mod observed;
mod sample;
mod status;
mod tally;

pub use credit::Credit;
pub use limiter::Limiter;
pub use limits::{Limits, Ramp};
pub use observed::{Observation, Observed};
pub use sample::{FAILURES_IN_A_ROW, Sample};
pub use status::{FlowStatus, WaitingFor};

use serde::{Deserialize, Serialize};

use crate::delivery::Delivery;
use crate::time::{Millis, Timestamp};
use tally::{Demand, Tally};

/// A share in thousandths.
type PerMille = u16;

/// Rates are in thousandths of an attempt per second.
const MILLI: u32 = 1000;
/// The slowest rate.
pub const FLOOR_MILLI: u32 = 1000;
/// The fastest rate of a limiter.
pub const CEILING_MILLI: u32 = 1_000_000;

/// How often the rate may change.
const STEP_EVERY: Millis = Millis::from_seconds(1);
/// Below this part of `base` the receiver is called too often.
const TOO_LOW: PerMille = 850;
/// From this part of `base` on it keeps up.
const WELL: PerMille = 950;
/// The share that is expected of a receiver that nothing is known about.
const UNKNOWN_BASE: PerMille = 500;
/// A cut goes a little below what was answered.
const CUT_TO: PerMille = 900;
/// The rate of a receiver that keeps up for this long without anything waiting is no longer limited.
const CALM: Millis = Millis::from_seconds(10);
/// What waits longer than this is held up by the rate.
const SHORT_WAIT: Millis = Millis::from_seconds(1);
/// A receiver that takes this many per second is well, even if a backlog is left. One process may not manage more.
const PLENTY_PER_SECOND: usize = 200;
const IDLE: Millis = Millis::from_seconds(60);

/// The kind of an attempt, told by its row alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The delivery was never attempted.
    First,
    /// Any later attempt, also of what an operator requeued.
    Retry,
}

impl AttemptKind {
    #[must_use]
    pub const fn of(delivery: &Delivery) -> Self {
        match delivery.attempts_total {
            0 => Self::First,
            _ => Self::Retry,
        }
    }
}

/// The oldest deliveries of a webhook that are due and not in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub first_due_at: Option<Timestamp>,
    pub retry_due_at: Option<Timestamp>,
}

/// A change of the limiter, for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The webhook is limited.
    Entered(Rates),
    Cut(Rates),
    Raised(Rates),
    /// The webhook is no longer limited.
    Opened(Rates),
    /// Nothing waited for a minute; the webhook is as if new.
    Reset(Rates),
}

/// The rate before and after a change, in thousandths of an attempt per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    pub from_milli: u32,
    pub to_milli: u32,
}

impl Change {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entered(_) => "entered",
            Self::Cut(_) => "cut",
            Self::Raised(_) => "raised",
            Self::Opened(_) => "opened",
            Self::Reset(_) => "reset",
        }
    }

    #[must_use]
    pub const fn rates(self) -> Rates {
        match self {
            Self::Entered(rates)
            | Self::Cut(rates)
            | Self::Raised(rates)
            | Self::Opened(rates)
            | Self::Reset(rates) => rates,
        }
    }
}

/// Everything that one process keeps about the flow to one webhook.
///
/// A process that shares the webhook with others stores [`Flow::limiter`] whenever it differs from what it read, on
/// condition that the stored epoch is the one it read. Any process may enter ([`Flow::observe`],
/// [`Flow::failed_in_a_row`]); only one at a time, the holder of a lease, may call [`Flow::step`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    limiter: Limiter,
    sample: Sample,
    tally: Tally,
    /// The first ten outcomes after entering or a cut, which make `base`.
    base_tally: Tally,
    rate_credit: Credit,
    retry_credit: Credit,
    max_credit: Credit,
    demand: Demand,
    /// Since when this process has worked for the webhook: it is not to blame for earlier waits.
    began_at: Timestamp,
    stepped_at: Timestamp,
}

impl Flow {
    /// The flow to a webhook that nothing is known about.
    #[must_use]
    pub fn new(limits: &Limits, now: Timestamp) -> Self {
        Self::of(Limiter::new(limits, now), now)
    }

    /// Takes over a limiter that was read from a store. In the same epoch, what this process has seen still counts.
    pub fn with(&mut self, limiter: Limiter, now: Timestamp) {
        let limiter = limiter.not_after(now);
        if limiter.epoch != self.limiter.epoch {
            self.sample.clear();
            self.forget_evidence();
        } else if limiter.changed_at != self.limiter.changed_at {
            self.forget_evidence();
        }
        self.limiter = limiter;
    }

    /// The flow of a process that has just read the limiter for the first time.
    #[must_use]
    pub fn of(limiter: Limiter, now: Timestamp) -> Self {
        Self {
            limiter: limiter.not_after(now),
            sample: Sample::default(),
            tally: Tally::default(),
            base_tally: Tally::default(),
            rate_credit: Credit::full(now),
            retry_credit: Credit::full(now),
            max_credit: Credit::full(now),
            demand: Demand::Met,
            began_at: now,
            stepped_at: limiter.changed_at.not_after(now),
        }
    }

    /// Leaves no credit. Another process may have used it up until now.
    pub fn spend_all(&mut self, now: Timestamp) {
        self.rate_credit = Credit::empty(now);
        self.retry_credit = Credit::empty(now);
        self.max_credit = Credit::empty(now);
    }

    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    #[must_use]
    pub fn current_rate_milli(&self, limits: &Limits) -> u32 {
        self.limiter.current_rate_milli(limits)
    }

    /// Takes credit for up to `want` attempts of one kind and returns how many may begin. `due_at` is when they were due.
    ///
    /// First attempts need credit only while the webhook is limited, if they were due before it opened, or if it has a
    /// `max_rate`. While it is limited, ask for retries that are due before first attempts, each oldest first: deliveries
    /// are then exhausted, webhooks fail and owners are told on time. Ask for all that is due and can go, not for one at a
    /// time: what is not granted is the reason to raise the rate.
    pub fn allow(
        &mut self,
        kind: AttemptKind,
        due_at: Timestamp,
        want: usize,
        limits: &Limits,
        now: Timestamp,
    ) -> usize {
        self.heal(now);
        let [rate, retry, max] = self.needed(kind, due_at, limits);
        let of = |credit: &Credit, rate: Option<u32>| {
            rate.map_or(want, |rate| credit.available(rate, now).min(want))
        };
        let others = of(&self.retry_credit, retry).min(of(&self.max_credit, max));
        let granted = of(&self.rate_credit, rate).min(others);
        if granted < others {
            self.demand = Demand::LackedCredit;
        }
        let buckets = [
            (&mut self.rate_credit, rate),
            (&mut self.retry_credit, retry),
            (&mut self.max_credit, max),
        ];
        for (credit, rate) in buckets {
            if let Some(rate) = rate {
                credit.take(rate, granted, now);
            }
        }
        granted
    }

    /// For how many attempts there is credit now. Takes none: [`Flow::allow`] does, when it is known how many there are.
    #[must_use]
    pub fn available(
        &self,
        kind: AttemptKind,
        due_at: Timestamp,
        limits: &Limits,
        now: Timestamp,
    ) -> usize {
        let [rate, retry, max] = self.needed(kind, due_at, limits);
        let of = |credit: &Credit, rate: Option<u32>| {
            rate.map_or(usize::MAX, |rate| credit.available(rate, now))
        };
        of(&self.rate_credit, rate)
            .min(of(&self.retry_credit, retry))
            .min(of(&self.max_credit, max))
    }

    /// When an attempt of this kind that was due at `due_at` may begin; `now` if it may already.
    #[must_use]
    pub fn ready_at(
        &self,
        kind: AttemptKind,
        due_at: Timestamp,
        limits: &Limits,
        now: Timestamp,
    ) -> Timestamp {
        let [rate, retry, max] = self.needed(kind, due_at, limits);
        let of = |credit: &Credit, rate: Option<u32>| {
            rate.map_or(now, |rate| credit.ready_at(rate, now))
        };
        of(&self.rate_credit, rate)
            .max(of(&self.retry_credit, retry))
            .max(of(&self.max_credit, max))
    }

    /// Takes note of an attempt that has ended. The webhook becomes limited when its receiver cannot keep up.
    pub fn observe(
        &mut self,
        observation: Observation,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        self.heal(now);
        let Observation {
            began_at, observed, ..
        } = observation;
        if began_at >= self.limiter.changed_at {
            self.tally.add(observed, now);
            if self.limiter.base.is_none() {
                self.base_tally.add(observed, now);
            }
        }
        if self.limiter.limited || began_at < self.limiter.opened_at {
            self.sample.count_answer(observed, now);
            return None;
        }
        self.sample.push(observed, now);
        let enters = observed.is_failure() && self.sample.calls_for_limit(now);
        enters.then(|| self.enter(limits, now))
    }

    /// Takes note of how many failures in a row were counted over all processes.
    pub fn failed_in_a_row(
        &mut self,
        count: u32,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        let enters = usize::try_from(count).unwrap_or(usize::MAX) >= FAILURES_IN_A_ROW;
        (enters && !self.limiter.limited).then(|| self.enter(limits, now))
    }

    /// Judges the rate by the outcomes since the last step, at most once a second. Without outcomes nothing changes: a
    /// receiver that hangs says nothing for as long as its timeout.
    pub fn step(&mut self, waiting: &Waiting, limits: &Limits, now: Timestamp) -> Option<Change> {
        self.heal(now);
        if waiting.first_due_at.is_some() || waiting.retry_due_at.is_some() {
            self.limiter.waited_at = now;
        }
        if now.since(self.stepped_at) < STEP_EVERY {
            return None;
        }
        if now.since(self.limiter.waited_at) >= IDLE {
            return self.reset(limits, now);
        }
        let rate = self.current_rate_milli(limits);
        if !self.tally.is_enough(rate, self.demand) {
            return None;
        }
        self.stepped_at = now;
        let (tally, demand) = (self.tally, self.demand);
        self.tally = Tally::default();
        self.demand = Demand::Met;
        let base = self.learn_base();
        if tally.all_failed() || tally.share() < of(base, TOO_LOW) {
            return self.cut(tally.share(), limits, now);
        }
        if tally.share() < of(base, WELL) {
            self.limiter.calm_since = None;
            return None;
        }
        if self.is_calm_for_long(waiting, limits, now) {
            return Some(self.open(limits, now));
        }
        match demand {
            Demand::Met => None,
            Demand::LackedCredit => self.raise(limits, now),
        }
    }

    /// The webhook's owner resumed it.
    pub fn resumed(&mut self, now: Timestamp) {
        self.limiter = self.limiter.resumed(now);
        self.sample.clear();
        self.forget_evidence();
    }

    /// The rates of the buckets that an attempt needs: the limiter's, the one of retries, and the one of all attempts.
    fn needed(&self, kind: AttemptKind, due_at: Timestamp, limits: &Limits) -> [Option<u32>; 3] {
        let rate = Some(self.current_rate_milli(limits));
        match kind {
            AttemptKind::First if self.limiter.limited || due_at < self.limiter.opened_at => {
                [rate, None, limits.max_milli()]
            }
            AttemptKind::First => [None, None, limits.max_milli()],
            AttemptKind::Retry => [rate, limits.retry_milli(), limits.max_milli()],
        }
    }

    fn heal(&mut self, now: Timestamp) {
        self.limiter = self.limiter.not_after(now);
        self.stepped_at = self.stepped_at.not_after(now);
        self.began_at = self.began_at.not_after(now);
    }

    /// What is expected of the receiver. The first ten outcomes after entering or a cut, or those of the first second if
    /// they are more, tell what it fails at any rate.
    fn learn_base(&mut self) -> PerMille {
        if self.limiter.base.is_none() && self.base_tally.is_ten() {
            let share = self.base_tally.share_without_429();
            self.limiter.base = (share >= UNKNOWN_BASE).then_some(share);
        }
        self.limiter.base.unwrap_or(UNKNOWN_BASE)
    }

    /// Whether the receiver has kept up long enough to open.
    fn is_calm_for_long(&mut self, waiting: &Waiting, limits: &Limits, now: Timestamp) -> bool {
        if !self.limiter.limited {
            return false;
        }
        let waits_for_rate = match limits.ramp {
            Ramp::On => [waiting.first_due_at, waiting.retry_due_at],
            Ramp::Off => [waiting.first_due_at, None],
        };
        let waits_long = |due_at: &Timestamp| now.since((*due_at).max(self.began_at)) > SHORT_WAIT;
        let calm = !waits_for_rate.iter().flatten().any(waits_long)
            || self.sample.answered_in_a_second(now) >= PLENTY_PER_SECOND;
        self.limiter.calm_since = calm.then(|| self.limiter.calm_since.unwrap_or(now));
        self.limiter
            .calm_since
            .is_some_and(|since| now.since(since) >= CALM)
    }

    fn enter(&mut self, limits: &Limits, now: Timestamp) -> Change {
        let answered = self.sample.answered_in_a_second(now);
        let rates = self.change(self.limiter.entered(answered, limits, now), limits);
        self.sample.clear();
        Change::Entered(rates)
    }

    fn cut(&mut self, share: PerMille, limits: &Limits, now: Timestamp) -> Option<Change> {
        let rate = self.current_rate_milli(limits);
        let to = limits.clamp_milli(of_milli(of_milli(rate, share), CUT_TO));
        let good = (share >= UNKNOWN_BASE).then_some(to);
        if to == rate {
            self.limiter.good_milli = good;
            self.limiter.calm_since = None;
            return None;
        }
        let rates = self.change(self.limiter.cut(to, good, now), limits);
        Some(Change::Cut(rates))
    }

    fn raise(&mut self, limits: &Limits, now: Timestamp) -> Option<Change> {
        let rate = self.current_rate_milli(limits);
        let to = match self.limiter.good_milli {
            Some(good) if rate >= good => rate.saturating_add(rate / 4),
            Some(good) => rate.saturating_mul(2).min(good),
            None => rate.saturating_mul(2),
        };
        let to = limits.clamp_milli(to);
        if to == rate {
            return None;
        }
        let base_tally = self.base_tally;
        let rates = self.change(self.limiter.raised(to, now), limits);
        self.base_tally = base_tally;
        Some(Change::Raised(rates))
    }

    fn open(&mut self, limits: &Limits, now: Timestamp) -> Change {
        let rates = self.change(self.limiter.opened(now), limits);
        self.sample.clear();
        Change::Opened(rates)
    }

    fn reset(&mut self, limits: &Limits, now: Timestamp) -> Option<Change> {
        let after = self.limiter.reset(limits, now);
        if after == self.limiter {
            return None;
        }
        let rates = self.change(after, limits);
        self.sample.clear();
        Some(Change::Reset(rates))
    }

    fn change(&mut self, after: Limiter, limits: &Limits) -> Rates {
        let from_milli = self.current_rate_milli(limits);
        self.limiter = after;
        self.forget_evidence();
        Rates {
            from_milli,
            to_milli: self.current_rate_milli(limits),
        }
    }

    fn forget_evidence(&mut self) {
        self.tally = Tally::default();
        self.base_tally = Tally::default();
        self.demand = Demand::Met;
    }
}

/// When a backlog will be empty at this rate.
#[must_use]
pub fn empty_at(backlog: u64, rate_milli: u32, now: Timestamp) -> Timestamp {
    let ms = u128::from(backlog) * 1_000_000 / u128::from(rate_milli.max(1));
    now.plus(Millis::new(u64::try_from(ms).unwrap_or(u64::MAX)))
}

fn of(base: PerMille, part: PerMille) -> PerMille {
    let product = u32::from(base) * u32::from(part) / MILLI;
    PerMille::try_from(product).unwrap_or(PerMille::MAX)
}

fn of_milli(rate_milli: u32, part: PerMille) -> u32 {
    let product = u64::from(rate_milli) * u64::from(part) / u64::from(MILLI);
    u32::try_from(product).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
