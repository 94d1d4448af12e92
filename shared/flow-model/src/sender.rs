//! The two ways of sending: one process, or many workers and a drainer.

use postrider_domain::flow::{AttemptKind, Change, Flow, Limiter, Limits, Observation, Waiting};
use postrider_domain::time::{Millis, Timestamp};

use crate::random::Random;
use crate::scenario::Shape;

const SLOTS: usize = 128;
const WORKERS: usize = 50;
const WORKER_SLOTS: usize = 500;
/// One drainer cannot begin more in a second.
const DRAINER_PER_SECOND: u64 = 400;
/// A drain begins attempts for ten seconds; another process takes over after a pause.
const DRAIN_MS: u64 = 10_000;
const HANDOVER_MS: u64 = 500;
/// How late the count of failures over all workers is.
const COUNT_LAG_MS: u64 = 1000;

const DAY: Millis = Millis::from_seconds(86_400);

/// The clock that the limiter is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    Right,
    ADayAhead,
}

impl Clock {
    const fn shows(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Right => now,
            Self::ADayAhead => now.plus(DAY),
        }
    }
}

/// Which process made an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    Process,
    Worker(usize),
    /// The number of the drain.
    Drain(u64),
}

pub(crate) enum Sender {
    Embedded(Box<Embedded>),
    Aws(Box<Aws>),
}

pub(crate) struct Embedded {
    flow: Flow,
    clock: Clock,
    in_flight: usize,
}

pub(crate) struct Aws {
    limiter: Limiter,
    clock: Clock,
    workers: Vec<Flow>,
    drainer: Flow,
    drain: u64,
    /// The drain before, which has given its lease back and waits for its attempts to end.
    previous: Flow,
    /// Of this drain and the one before: otherwise two of them would have twice the slots.
    drainer_in_flight: usize,
    workers_in_flight: usize,
    /// How many the drainer may still begin in this tenth of a second.
    left_in: (u64, u64),
    failed_in_a_row: u32,
    /// By a worker that saw the count; reported with the next step.
    entered: Option<Change>,
    /// The count as workers see it, and since when.
    counted: (u64, u32),
}

impl Sender {
    pub(crate) fn new(shape: Shape, limits: &Limits, now: Timestamp) -> Self {
        let flow = Flow::new(limits, now);
        match shape {
            Shape::Embedded => Self::Embedded(Box::new(Embedded {
                flow,
                clock: Clock::Right,
                in_flight: 0,
            })),
            Shape::Aws => Self::Aws(Box::new(Aws {
                limiter: *flow.limiter(),
                clock: Clock::Right,
                workers: vec![flow.clone(); WORKERS],
                drainer: flow.clone(),
                drain: 0,
                previous: flow,
                drainer_in_flight: 0,
                workers_in_flight: 0,
                left_in: (0, 0),
                failed_in_a_row: 0,
                entered: None,
                counted: (0, 0),
            })),
        }
    }

    pub(crate) const fn limiter(&self) -> &Limiter {
        match self {
            Self::Embedded(process) => process.flow.limiter(),
            Self::Aws(aws) => &aws.limiter,
        }
    }

    pub(crate) const fn set_clock(&mut self, clock: Clock) {
        match self {
            Self::Embedded(process) => process.clock = clock,
            Self::Aws(aws) => aws.clock = clock,
        }
    }

    /// How many attempts may begin, and who makes them.
    pub(crate) fn allow(
        &mut self,
        kind: AttemptKind,
        due_at: Timestamp,
        want: usize,
        limits: &Limits,
        now: Timestamp,
        random: &mut Random,
    ) -> (usize, By) {
        match self {
            Self::Embedded(process) => {
                let want = want.min(SLOTS - process.in_flight);
                let now = process.clock.shows(now);
                let granted = process.flow.allow(kind, due_at, want, limits, now);
                process.in_flight += granted;
                (granted, By::Process)
            }
            Self::Aws(aws) => aws.allow(kind, due_at, want, limits, now, random),
        }
    }

    pub(crate) fn ended(
        &mut self,
        by: By,
        observation: Observation,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        match self {
            Self::Embedded(process) => {
                process.in_flight -= 1;
                let now = process.clock.shows(now);
                process.flow.observe(observation, limits, now)
            }
            Self::Aws(aws) => aws.ended(by, observation, limits, now),
        }
    }

    pub(crate) fn step(
        &mut self,
        waiting: &Waiting,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        match self {
            Self::Embedded(process) => {
                let now = process.clock.shows(now);
                process.flow.step(waiting, limits, now)
            }
            Self::Aws(aws) => aws.step(waiting, limits, now),
        }
    }
}

impl Aws {
    fn allow(
        &mut self,
        kind: AttemptKind,
        due_at: Timestamp,
        want: usize,
        limits: &Limits,
        now: Timestamp,
        random: &mut Random,
    ) -> (usize, By) {
        let is_free =
            kind == AttemptKind::First && !self.limiter.limited && due_at >= self.limiter.opened_at;
        if is_free {
            let worker = usize::try_from(random.below(WORKERS as u64)).unwrap();
            // A worker takes one message after the other, so that a burst is spread over all of them.
            let granted = want.min(1).min(WORKER_SLOTS - self.workers_in_flight);
            self.workers_in_flight += granted;
            self.enter_by_count(worker, limits, now);
            return (granted, By::Worker(worker));
        }
        let by = By::Drain(self.drain);
        let ms = millis(now);
        if ms % (DRAIN_MS + HANDOVER_MS) >= DRAIN_MS {
            return (0, by);
        }
        if self.left_in.0 != ms / 100 {
            self.left_in = (ms / 100, DRAINER_PER_SECOND / 10);
        }
        let left = usize::try_from(self.left_in.1).unwrap();
        let want = want
            .min(SLOTS.saturating_sub(self.drainer_in_flight))
            .min(left);
        let now = self.clock.shows(now);
        self.drainer.with(self.limiter, now);
        let granted = self.drainer.allow(kind, due_at, want, limits, now);
        self.left_in.1 -= granted as u64;
        self.drainer_in_flight += granted;
        (granted, by)
    }

    fn ended(
        &mut self,
        by: By,
        observation: Observation,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        let now = self.clock.shows(now);
        if observation.observed.is_failure() {
            self.failed_in_a_row += 1;
        } else {
            self.failed_in_a_row = 0;
        }
        match by {
            By::Process => unreachable!("of the other shape"),
            By::Worker(worker) => {
                self.workers_in_flight -= 1;
                let flow = &mut self.workers[worker];
                flow.with(self.limiter, now);
                let change = flow.observe(observation, limits, now);
                self.limiter = *flow.limiter();
                change
            }
            By::Drain(drain) => {
                self.drainer_in_flight = self.drainer_in_flight.saturating_sub(1);
                let flow = if drain == self.drain {
                    &mut self.drainer
                } else {
                    &mut self.previous
                };
                flow.with(self.limiter, now);
                let change = flow.observe(observation, limits, now);
                self.limiter = *flow.limiter();
                change
            }
        }
    }

    fn step(&mut self, waiting: &Waiting, limits: &Limits, now: Timestamp) -> Option<Change> {
        self.count(now);
        if let Some(change) = self.entered.take() {
            return Some(change);
        }
        let drain = millis(now) / (DRAIN_MS + HANDOVER_MS);
        let now = self.clock.shows(now);
        if drain != self.drain {
            self.drain = drain;
            let next = Flow::of(self.limiter, now);
            self.previous = std::mem::replace(&mut self.drainer, next);
        }
        self.drainer.with(self.limiter, now);
        let change = self.drainer.step(waiting, limits, now);
        self.limiter = *self.drainer.limiter();
        if change.is_some() {
            return change;
        }
        self.cut_by_previous(waiting, limits, now)
    }

    /// A drain without its lease may still cut, if the limiter is the one that it knows.
    fn cut_by_previous(
        &mut self,
        waiting: &Waiting,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        self.previous.with(self.limiter, now);
        let change = self.previous.step(waiting, limits, now);
        match change {
            Some(Change::Cut(_)) => {
                self.limiter = *self.previous.limiter();
                change
            }
            Some(Change::Entered(_) | Change::Raised(_) | Change::Opened(_) | Change::Reset(_))
            | None => None,
        }
    }

    fn count(&mut self, now: Timestamp) {
        if millis(now) >= self.counted.0 + COUNT_LAG_MS {
            self.counted = (millis(now), self.failed_in_a_row);
        }
    }

    fn enter_by_count(&mut self, worker: usize, limits: &Limits, now: Timestamp) {
        let now = self.clock.shows(now);
        let flow = &mut self.workers[worker];
        flow.with(self.limiter, now);
        let change = flow.failed_in_a_row(self.counted.1, limits, now);
        self.entered = change.or(self.entered);
        self.limiter = *flow.limiter();
    }
}

pub(crate) fn millis(at: Timestamp) -> u64 {
    at.since(Timestamp::ZERO).get()
}

pub(crate) const fn instant(ms: u64) -> Timestamp {
    Timestamp::ZERO.plus(Millis::new(ms))
}
