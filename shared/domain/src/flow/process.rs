//! What one process keeps about the flow to one webhook: credit, what it has seen, and the limiter that it knows.

use super::sample::Symptom;
use super::tally::{Demand, Tally};
use super::{
    AttemptKind, Change, Credit, FAILURES_IN_A_ROW, Limiter, Limits, Observation, Rates, Sample,
};
use crate::time::Timestamp;

/// Everything that one process keeps about the flow to one webhook.
///
/// A process that shares the webhook with others stores [`Flow::limiter`] whenever it differs from what it read, on
/// condition that the stored limiter is still the one it read. Any process may enter ([`Flow::observe`],
/// [`Flow::failed_in_a_row`]). Only one at a time, the holder of a lease, may call [`Flow::step`]. A process that has given
/// its lease back and sees the rest of its attempts end may still step and store a [`Change::Cut`]: a receiver that hangs
/// answers after the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    pub(super) limiter: Limiter,
    pub(super) sample: Sample,
    /// The outcomes that the next step is made of.
    pub(super) tally: Tally,
    /// The first outcomes after entering or a cut, which make `base`.
    pub(super) base_tally: Tally,
    pub(super) demand: Demand,
    /// Since when this process has worked for the webhook: it is not to blame for earlier waits.
    pub(super) began_at: Timestamp,
    pub(super) stepped_at: Timestamp,
    rate_credit: Credit,
    retry_credit: Credit,
    max_credit: Credit,
}

impl Flow {
    /// The flow to a webhook that nothing is known about.
    #[must_use]
    pub fn new(limits: &Limits, now: Timestamp) -> Self {
        Self::starting(Limiter::new(limits, now), Credit::full(now), now)
    }

    /// The flow in a process that reads the limiter for the first time. Another process may have used up its credit just now.
    #[must_use]
    pub fn of(limiter: Limiter, now: Timestamp) -> Self {
        Self::starting(limiter.not_after(now), Credit::empty(now), now)
    }

    fn starting(limiter: Limiter, credit: Credit, now: Timestamp) -> Self {
        Self {
            limiter,
            sample: Sample::default(),
            tally: Tally::default(),
            base_tally: Tally::default(),
            demand: Demand::Met,
            began_at: now,
            stepped_at: limiter.changed_at,
            rate_credit: credit,
            retry_credit: credit,
            max_credit: credit,
        }
    }

    /// Takes over a limiter that was read again. In the same epoch, what this process has seen still counts.
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

    #[must_use]
    pub const fn limiter(&self) -> &Limiter {
        &self.limiter
    }

    #[must_use]
    pub fn current_rate_milli(&self, limits: &Limits) -> u32 {
        self.limiter.current_rate_milli(limits)
    }

    /// Whether retries that are due go before first attempts. If not, the kind goes first whose oldest row has waited
    /// longer: under a maximum of the webhook both use the same credit or slots, and retries would leave nothing.
    #[must_use]
    pub const fn retries_go_first(&self, limits: &Limits) -> bool {
        self.limiter.limited || !limits.is_capped()
    }

    /// Takes credit for up to `want` attempts of one kind and returns how many may begin. `due_at` is when the last of them
    /// was due.
    ///
    /// First attempts need credit only while the webhook is limited, if they were due before it opened
    /// ([`Limiter::opened_at`]), or if it has a `max_rate`. Ask for those that were due before and after it opened
    /// separately: the new ones do not wait for the old ones.
    ///
    /// While the webhook is limited, ask for retries that are due before first attempts, each oldest first. Then deliveries
    /// are exhausted, webhooks fail and owners are notified on time. [`Flow::retries_go_first`] says which to ask for first.
    ///
    /// Ask for all that is due and has a slot, not for one at a time: what is not granted is the reason to raise the rate.
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
        let available = |credit: &Credit, rate: Option<u32>| {
            rate.map_or(want, |rate| credit.available(rate, now).min(want))
        };
        let others = available(&self.retry_credit, retry).min(available(&self.max_credit, max));
        let granted = available(&self.rate_credit, rate).min(others);
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

    /// Returns credit of attempts that were allowed but did not begin.
    pub fn give_back(
        &mut self,
        kind: AttemptKind,
        due_at: Timestamp,
        count: usize,
        limits: &Limits,
    ) {
        let needed = self.needed(kind, due_at, limits);
        let buckets = [
            &mut self.rate_credit,
            &mut self.retry_credit,
            &mut self.max_credit,
        ];
        for (credit, rate) in buckets.into_iter().zip(needed) {
            if rate.is_some() {
                credit.give_back(count);
            }
        }
    }

    /// Whether an attempt of this kind that was due at `due_at` needs credit.
    #[must_use]
    pub fn needs_credit(&self, kind: AttemptKind, due_at: Timestamp, limits: &Limits) -> bool {
        self.needed(kind, due_at, limits)
            .iter()
            .any(Option::is_some)
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
        let available = |credit: &Credit, rate: Option<u32>| {
            rate.map_or(usize::MAX, |rate| credit.available(rate, now))
        };
        available(&self.rate_credit, rate)
            .min(available(&self.retry_credit, retry))
            .min(available(&self.max_credit, max))
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
        let ready_at = |credit: &Credit, rate: Option<u32>| {
            rate.map_or(now, |rate| credit.ready_at(rate, now))
        };
        ready_at(&self.rate_credit, rate)
            .max(ready_at(&self.retry_credit, retry))
            .max(ready_at(&self.max_credit, max))
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
            began_at,
            ended_at,
            observed,
        } = observation;
        let ended_at = ended_at.not_after(now);
        if began_at >= self.limiter.changed_at {
            self.tally.add(observed, ended_at);
            self.base_tally.add(observed, ended_at);
        }
        if self.limiter.limited || began_at < self.limiter.opened_at {
            self.sample.count(observed, ended_at, now);
            return None;
        }
        self.sample.push(observed, ended_at, now);
        let symptom = self.sample.symptom(now)?;
        Some(self.enter(symptom, limits, now))
    }

    /// Takes note of how many failures in a row were counted over all processes. Each process sees only its part. One that
    /// was answered just now knows better: among hundreds of attempts per second ten fail in a row by chance.
    pub fn failed_in_a_row(
        &mut self,
        count: u32,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        let is_down = usize::try_from(count).unwrap_or(usize::MAX) >= FAILURES_IN_A_ROW;
        let is_limited = self.limiter.limited || self.sample.has_answer(now);
        (is_down && !is_limited).then(|| self.enter(Symptom::Down, limits, now))
    }

    /// The webhook's owner resumed it.
    pub fn resumed(&mut self, now: Timestamp) {
        self.limiter = self.limiter.resumed(now);
        self.sample.clear();
        self.forget_evidence();
    }

    fn enter(&mut self, symptom: Symptom, limits: &Limits, now: Timestamp) -> Change {
        let answered = self.sample.answered_milli(now);
        let rates = self.change(self.limiter.entered(symptom, answered, limits, now), limits);
        self.sample.clear();
        Change::Entered(rates)
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

    pub(super) fn change(&mut self, after: Limiter, limits: &Limits) -> Rates {
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

    /// A clock that ran ahead for one call must not hold anything up once it is right again.
    pub(super) fn heal(&mut self, now: Timestamp) {
        self.limiter = self.limiter.not_after(now);
        self.stepped_at = self.stepped_at.not_after(now);
        self.began_at = self.began_at.not_after(now);
    }
}
