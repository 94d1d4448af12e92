//! Workers that claim one row, attempt it and write the result. Each has a clock of its own.
//!
//! Answers of the store may be lost, workers may die, and any amount of time may pass between two steps of a worker. Only an
//! attempt has an end: the sender's timeout.

use std::hash::{Hash, Hasher};

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Delivery, Status};
use postrider_domain::ids::TenantId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_testkit::builders;
use stateright::{Model, Property};

/// The longest attempt, in ticks.
const LONGEST: u8 = 2;
/// How much of its lease an attempt must leave, in ticks: as far as clocks may differ.
const SPARE: u8 = 1;
/// A lease, in ticks: the attempt may begin at once or a tick later.
const LEASE: u8 = LONGEST + SPARE + 1;
/// How long after a failed attempt the next one is due, in ticks.
const DELAY: u8 = 2;
/// How far the clock of each worker is ahead, in ticks.
const AHEAD: [u8; 2] = [0, 1];
const END: u8 = 6;
/// Workers die at most this often.
const DEATHS: u8 = 1;

/// A rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// A row is free at the last instant of its lease.
    LeaseEndsTooEarly,
    /// An attempt starts without a look at the rest of the lease.
    NoStartGuard,
    /// The start guard ignores that clocks differ.
    NoSpare,
    /// A result is written without a look at version and owner.
    NoFencing,
    /// A row is claimed before it is due.
    NoDueCheck,
}

/// The model, with at most one flaw.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Claims {
    pub(crate) flaw: Option<Flaw>,
}

/// The stored row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row(Delivery);

/// `Delivery` has no hash. These are the fields that differ between states.
impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let row = &self.0;
        row.lease_owner.hash(state);
        (row.version, row.lease_until.as_millis()).hash(state);
        (row.attempts_total, row.status.as_str()).hash(state);
        row.next_retry_at.map(Timestamp::as_millis).hash(state);
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim(Claimed);

impl Hash for Claim {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Row(self.0.delivery().clone()).hash(state);
    }
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) enum Worker {
    Idle,
    Claimed(Claim),
    Posting {
        claim: Claim,
        since: u8,
    },
    /// It knows the result, and has not heard that it is stored.
    Answered {
        claim: Claim,
        answer: Answer,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Success,
    Failure,
}

#[derive(Clone, Debug, PartialEq, Hash)]
pub(crate) struct State {
    now: u8,
    row: Row,
    /// When the row is due.
    due_at: u8,
    workers: [Worker; 2],
    /// The versions of the claims whose results were written.
    results: Vec<u64>,
    deaths: u8,
    began_too_early: bool,
    /// A delivered row was opened again.
    reopened: bool,
    /// A result came too late.
    rejected: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Tick,
    Claim(usize),
    Begin(usize),
    Answer(usize, Answer),
    Write(usize),
    /// It is written, but the worker does not hear of it.
    WriteUnheard(usize),
    Die(usize),
}

fn instant(ticks: u8) -> Timestamp {
    builders::after(u64::from(ticks))
}

fn ticks(count: u8) -> Millis {
    Millis::from_seconds(u64::from(count))
}

impl Claims {
    fn clock(worker: usize, state: &State) -> Timestamp {
        instant(state.now + AHEAD[worker])
    }

    fn claim(self, worker: usize, mut state: State) -> Option<State> {
        let now = Self::clock(worker, &state);
        let mut row = state.row.0.clone();
        if self.flaw == Some(Flaw::LeaseEndsTooEarly) && row.lease_until <= now {
            row.lease_until = Timestamp::ZERO;
        }
        if self.flaw == Some(Flaw::NoDueCheck) && row.status.is_open() {
            row.next_retry_at = Some(now);
        }
        let process = ["a", "b"][worker];
        let lease = builders::lease(process, row.version, now.plus(ticks(LEASE)));
        let claimed = row.claim(&lease, now).ok()?;
        state.row = Row(claimed.delivery().clone());
        state.workers[worker] = Worker::Claimed(Claim(claimed));
        Some(state)
    }

    /// Begins the attempt or, if it could outlive the lease, gives the row back.
    fn begin(self, worker: usize, mut state: State) -> Option<State> {
        let Worker::Claimed(claim) = state.workers[worker].clone() else {
            return None;
        };
        let now = Self::clock(worker, &state);
        let spare = if self.flaw == Some(Flaw::NoSpare) {
            0
        } else {
            SPARE
        };
        let longest = now.plus(ticks(LONGEST)).plus(ticks(spare));
        let fits = longest <= claim.0.delivery().lease_until;
        if !fits && self.flaw != Some(Flaw::NoStartGuard) {
            if claim.0.still_holds(&state.row.0) {
                state.row = Row(state.row.0.given_back());
            }
            state.workers[worker] = Worker::Idle;
            return Some(state);
        }
        state.began_too_early |= state.now + AHEAD[worker] < state.due_at;
        let since = state.now;
        state.workers[worker] = Worker::Posting { claim, since };
        Some(state)
    }

    fn write(self, worker: usize, mut state: State) -> Option<State> {
        let Worker::Answered { claim, answer } = state.workers[worker].clone() else {
            return None;
        };
        if self.flaw != Some(Flaw::NoFencing) && !claim.0.still_holds(&state.row.0) {
            state.rejected |= !state.results.contains(&claim.0.version());
            return Some(state);
        }
        let now = state.now + AHEAD[worker];
        let transition = match answer {
            Answer::Success => Transition::Deliver,
            Answer::Failure => Transition::Retry {
                next_retry_at: instant(now + DELAY),
            },
        };
        let done = builders::completion(&claim.0, transition, instant(now));
        let was_delivered = state.row.0.status == Status::Delivered;
        state.row = Row(state.row.0.completed(&done));
        state.due_at = now + DELAY;
        state.reopened |= was_delivered && state.row.0.status.is_open();
        state.results.push(claim.0.version());
        Some(state)
    }

    fn tick(mut state: State) -> Option<State> {
        let is_over = |worker: &Worker| match worker {
            Worker::Posting { since, .. } => state.now >= since + LONGEST,
            Worker::Idle | Worker::Claimed(_) | Worker::Answered { .. } => false,
        };
        if state.now == END || state.workers.iter().any(is_over) {
            return None;
        }
        state.now += 1;
        Some(state)
    }
}

impl State {
    fn answered(mut self, worker: usize, answer: Answer) -> Option<Self> {
        let Worker::Posting { claim, .. } = self.workers[worker].clone() else {
            return None;
        };
        self.workers[worker] = Worker::Answered { claim, answer };
        Some(self)
    }

    fn died(mut self, worker: usize) -> Option<Self> {
        if self.deaths == DEATHS || self.workers[worker] == Worker::Idle {
            return None;
        }
        self.deaths += 1;
        Some(self.with_idle(worker))
    }

    fn with_idle(mut self, worker: usize) -> Self {
        self.workers[worker] = Worker::Idle;
        self
    }

    fn posts(&self) -> usize {
        let is_posting = |worker: &&Worker| matches!(worker, Worker::Posting { .. });
        self.workers.iter().filter(is_posting).count()
    }

    fn counts_twice(&self) -> bool {
        let mut results = self.results.clone();
        results.sort_unstable();
        results.dedup();
        results.len() < self.results.len()
    }
}

impl Model for Claims {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let event = builders::event(&TenantId::default(), 1, instant(0));
        vec![State {
            now: 0,
            row: Row(builders::row(&event, builders::webhook_id(1))),
            due_at: 0,
            workers: [Worker::Idle, Worker::Idle],
            results: Vec::new(),
            deaths: 0,
            began_too_early: false,
            reopened: false,
            rejected: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.push(Action::Tick);
        for (worker, doing) in state.workers.iter().enumerate() {
            match doing {
                Worker::Idle => actions.push(Action::Claim(worker)),
                Worker::Claimed(_) => actions.push(Action::Begin(worker)),
                Worker::Posting { .. } => {
                    actions.push(Action::Answer(worker, Answer::Success));
                    actions.push(Action::Answer(worker, Answer::Failure));
                }
                Worker::Answered { .. } => {
                    actions.extend([Action::Write(worker), Action::WriteUnheard(worker)]);
                }
            }
            actions.push(Action::Die(worker));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let state = last.clone();
        match action {
            Action::Tick => Self::tick(state),
            Action::Claim(worker) => self.claim(worker, state),
            Action::Begin(worker) => self.begin(worker, state),
            Action::Answer(worker, answer) => state.answered(worker, answer),
            Action::Write(worker) => Some(self.write(worker, state)?.with_idle(worker)),
            Action::WriteUnheard(worker) => self.write(worker, state),
            Action::Die(worker) => state.died(worker),
        }
    }

    /// Without fencing, results could be written without end.
    fn within_boundary(&self, state: &State) -> bool {
        state.results.len() <= 3
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one request at a time", |_, state: &State| {
                state.posts() <= 1
            }),
            Property::always("no attempt before it is due", |_, state: &State| {
                !state.began_too_early
            }),
            Property::always("delivered stays delivered", |_, state: &State| {
                !state.reopened
            }),
            Property::always("an attempt counts once", |_, state: &State| {
                !state.counts_twice()
            }),
            Property::sometimes("delivered after a death", |_, state: &State| {
                state.deaths > 0 && state.row.0.status == Status::Delivered
            }),
            Property::sometimes("a late result is rejected", |_, state: &State| {
                state.rejected
            }),
        ]
    }
}
