//! One webhook, its publisher, its receiver and its sender, in steps of ten milliseconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use postrider_domain::decide::Transition;
use postrider_domain::flow::{AttemptKind, Limits, Observation, Observed, Waiting};
use postrider_domain::retry::Jitter;

use crate::policy::{Outcomes, Said, Schedule};
use crate::random::Random;
use crate::receiver::Serving;
use crate::report::Report;
use crate::scenario::Scenario;
use crate::sender::{By, Clock, Sender, instant};

const TICK_MS: u64 = 10;
const STEP_MS: u64 = 100;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flight {
    ends_ms: u64,
    row: Row,
    began_ms: u64,
    said: Said,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    due_ms: u64,
    attempts: usize,
}

struct Simulation {
    scenario: Scenario,
    limits: Limits,
    schedule: Schedule,
    outcomes: Outcomes,
    random: Random,
    receiver: Serving,
    sender: Sender,
    first: VecDeque<Row>,
    /// First attempts that were due before the webhook opened.
    first_before_opening: VecDeque<Row>,
    retries: BinaryHeap<Reverse<Row>>,
    in_flight: BinaryHeap<Reverse<Flight>>,
    report: Report,
}

pub fn run(scenario: Scenario) -> Report {
    let limits = scenario.limits();
    let mut simulation = Simulation {
        scenario,
        limits,
        schedule: Schedule::new(scenario.profile),
        outcomes: Outcomes::new(),
        random: Random::new(scenario.seed),
        receiver: Serving::new(scenario.receiver),
        sender: Sender::new(scenario.shape, &limits, instant(0)),
        first: VecDeque::new(),
        first_before_opening: VecDeque::new(),
        retries: BinaryHeap::new(),
        in_flight: BinaryHeap::new(),
        report: Report::default(),
    };
    let end_ms = scenario.end_s * 1000;
    for tick in 0..end_ms / TICK_MS {
        simulation.tick(tick * TICK_MS);
    }
    simulation.finish(end_ms)
}

impl Simulation {
    fn tick(&mut self, now_ms: u64) {
        let clock_ahead_at_ms = self.scenario.clock_ahead_at_s.map(|second| second * 1000);
        self.sender.set_clock(if clock_ahead_at_ms == Some(now_ms) {
            Clock::ADayAhead
        } else {
            Clock::Right
        });
        self.publish(now_ms);
        while let Some(Reverse(flight)) = self.in_flight.peek().copied()
            && flight.ends_ms <= now_ms
        {
            self.in_flight.pop();
            self.complete(flight, now_ms);
        }
        if now_ms.is_multiple_of(STEP_MS) {
            let waiting = self.waiting(now_ms);
            let change = self.sender.step(&waiting, &self.limits, instant(now_ms));
            self.report.change(change);
        }
        self.sort_out_first_attempts();
        if self.sender.limiter().limited || self.random.below(2) == 0 {
            self.begin_backlog(now_ms);
            self.begin_first(now_ms);
        } else {
            self.begin_first(now_ms);
            self.begin_backlog(now_ms);
        }
    }

    fn publish(&mut self, now_ms: u64) {
        if now_ms >= self.scenario.load_s * 1000 {
            return;
        }
        let load = self.scenario.load;
        for _ in load.until(now_ms)..load.until(now_ms + TICK_MS) {
            self.report.accept(now_ms);
            self.first.push_back(Row {
                due_ms: now_ms,
                attempts: 0,
            });
        }
    }

    fn waiting(&self, now_ms: u64) -> Waiting {
        let oldest_first = self.first_before_opening.front().or(self.first.front());
        let oldest_retry = self.retries.peek().map(|Reverse(row)| row);
        let due = |row: &Row| (row.due_ms <= now_ms).then(|| instant(row.due_ms));
        Waiting {
            first_due_at: oldest_first.and_then(due),
            retry_due_at: oldest_retry.and_then(due),
        }
    }

    fn sort_out_first_attempts(&mut self) {
        let limiter = self.sender.limiter();
        if limiter.limited {
            return;
        }
        while let Some(row) = self.first.front()
            && instant(row.due_ms) < limiter.opened_at
        {
            self.first_before_opening.extend(self.first.pop_front());
        }
    }

    fn begin_backlog(&mut self, now_ms: u64) {
        self.begin_retries(now_ms);
        self.begin_first_before_opening(now_ms);
    }

    fn begin_retries(&mut self, now_ms: u64) {
        while let Some(Reverse(row)) = self.retries.peek().copied()
            && row.due_ms <= now_ms
        {
            let Some(by) = self.one(AttemptKind::Retry, row, now_ms) else {
                return;
            };
            self.retries.pop();
            self.begin(row, by, now_ms);
        }
    }

    fn begin_first_before_opening(&mut self, now_ms: u64) {
        while let Some(row) = self.first_before_opening.front().copied() {
            let Some(by) = self.one(AttemptKind::First, row, now_ms) else {
                return;
            };
            self.first_before_opening.pop_front();
            self.begin(row, by, now_ms);
        }
    }

    fn begin_first(&mut self, now_ms: u64) {
        while let Some(row) = self.first.front().copied() {
            let Some(by) = self.one(AttemptKind::First, row, now_ms) else {
                return;
            };
            self.first.pop_front();
            self.begin(row, by, now_ms);
        }
    }

    fn one(&mut self, kind: AttemptKind, row: Row, now_ms: u64) -> Option<By> {
        let (granted, by) = self.sender.allow(
            kind,
            instant(row.due_ms),
            1,
            &self.limits,
            instant(now_ms),
            &mut self.random,
        );
        (granted > 0).then_some(by)
    }

    fn begin(&mut self, row: Row, by: By, now_ms: u64) {
        let kind = match row.attempts {
            0 => AttemptKind::First,
            _ => AttemptKind::Retry,
        };
        self.report.begin(kind, row.due_ms, now_ms);
        let (after_ms, said) = self.receiver.answer(now_ms, &mut self.random);
        self.in_flight.push(Reverse(Flight {
            ends_ms: now_ms + after_ms,
            row,
            began_ms: now_ms,
            said,
            by,
        }));
    }

    fn complete(&mut self, flight: Flight, now_ms: u64) {
        let now = instant(now_ms);
        let outcome = self.outcomes.of(flight.said);
        let jitter = Jitter(u32::try_from(self.random.below(1 << 32)).unwrap());
        let transition = self
            .schedule
            .decide(flight.row.attempts, outcome, now, jitter);
        let observation = Observation {
            began_at: instant(flight.began_ms),
            ended_at: now,
            observed: Observed::of(outcome, transition),
        };
        let change = self.sender.ended(flight.by, observation, &self.limits, now);
        self.report.change(change);
        self.report.end(flight.said, now_ms);
        match transition {
            Transition::Deliver => self.report.delivered += 1,
            Transition::Retry { next_retry_at } => self.retries.push(Reverse(Row {
                due_ms: crate::sender::millis(next_retry_at),
                attempts: flight.row.attempts + 1,
            })),
            Transition::Die { .. } => {
                self.report.dead += 1;
                self.report.first_dead_s.get_or_insert(now_ms / 1000);
            }
        }
    }

    fn finish(mut self, end_ms: u64) -> Report {
        for row in self.first.iter().chain(&self.first_before_opening) {
            self.report
                .never_began(AttemptKind::First, row.due_ms, end_ms);
        }
        for Reverse(row) in &self.retries {
            self.report
                .never_began(AttemptKind::Retry, row.due_ms, end_ms);
        }
        let waiting = self.first.len() + self.first_before_opening.len() + self.retries.len();
        self.report.open = (waiting + self.in_flight.len()) as u64;
        self.report.in_flight = self.in_flight.len() as u64;
        self.report
    }
}
