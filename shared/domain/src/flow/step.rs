//! How the rate follows what the receiver takes, once a second.

use super::tally::{Demand, Tally};
use super::{Change, Flow, Limits, MILLI, PerMille, Ramp, Waiting, part_of};
use crate::time::{Millis, Timestamp};

/// How often the rate may change.
const STEP_EVERY: Millis = Millis::from_seconds(1);
/// Below this part of `base` the receiver is called too often.
const TOO_LOW: PerMille = 850;
/// While the webhook is not limited, retries are slowed down sooner. Otherwise they fill what first attempts leave of the
/// receiver's capacity until one of 50 processes by chance sees a fifth of its attempts rejected and limits the webhook.
const TOO_LOW_OPEN: PerMille = 920;
/// From this part of `base` on it keeps up.
const WELL: PerMille = 950;
/// How long it may be neither before the rate is cut: otherwise a rate a little above the capacity would stay.
const IN_DOUBT: Millis = Millis::from_seconds(5);
/// The share that is expected of a receiver that nothing is known about.
const UNKNOWN_BASE: PerMille = 500;
/// A cut goes a little below what was answered.
const CUT_TO: PerMille = 900;
/// A receiver that answers nothing is probed at most this often. At 1 per second, 500 attempts that hung at once would take
/// so long to be retried that a webhook of the profile `public-api` fails only after 78 minutes.
pub(super) const PROBE_MILLI: u32 = 2 * MILLI;
/// A webhook opens after this long without a reason not to.
const CALM: Millis = Millis::from_seconds(10);
/// What waits longer than this is held up by the rate.
const SHORT_WAIT: Millis = Millis::from_seconds(1);
/// A receiver that answers so many per second is well, even if a backlog is left. One process may not manage more.
const PLENTY_MILLI: u32 = 200 * MILLI;
/// A webhook that opens with a backlog gets this part of what it was taking for the backlog: its first attempts are free
/// again and come on top.
const BACKLOG_PART: u32 = 4;
const IDLE: Millis = Millis::from_seconds(60);

/// What a step's outcomes say about the rate.
enum Finding {
    TooFast,
    InDoubt,
    Well,
}

impl Flow {
    /// Judges the rate by the outcomes since the last step, at most once a second. Call it about that often, also when
    /// nothing waits: a webhook that is not asked about is never reset. Without outcomes the rate does not change: a receiver
    /// that hangs says nothing for as long as its timeout.
    pub fn step(&mut self, waiting: &Waiting, limits: &Limits, now: Timestamp) -> Option<Change> {
        self.heal(now);
        if !waiting.is_empty() {
            self.limiter.waited_at = now;
        }
        if now.since(self.stepped_at) < STEP_EVERY {
            return None;
        }
        if now.since(self.limiter.waited_at) >= IDLE {
            return self.reset(limits, now);
        }
        let (tally, rate) = (self.tally, self.current_rate_milli(limits));
        if !tally.is_enough(rate, self.demand, now) {
            return None;
        }
        self.stepped_at = now;
        let base = self.base(tally);
        match finding(tally, base, self.too_low()) {
            Finding::TooFast => self.cut(tally, limits, now),
            Finding::InDoubt if tally.has_lasted(IN_DOUBT, now) => self.cut(tally, limits, now),
            Finding::InDoubt => {
                self.limiter.calm_since = None;
                None
            }
            Finding::Well => self.go_on(tally, base, waiting, limits, now),
        }
    }

    /// The receiver keeps up: open, or raise the rate if it held anything up.
    fn go_on(
        &mut self,
        tally: Tally,
        base: PerMille,
        waiting: &Waiting,
        limits: &Limits,
        now: Timestamp,
    ) -> Option<Change> {
        let demand = std::mem::replace(&mut self.demand, Demand::Met);
        self.tally = Tally::default();
        self.note_calm(tally, demand, waiting, limits, now);
        if self.is_calm_for_long(now) {
            return Some(self.open(tally, waiting, limits, now));
        }
        match demand {
            Demand::LackedCredit if tally.share() >= part(base, WELL) => {
                self.raise(tally, limits, now)
            }
            Demand::LackedCredit | Demand::Met => None,
        }
    }

    /// The share that is expected of the receiver. While limited, the outcomes of the first second after entering or a cut,
    /// at least ten, tell what it fails at any rate. Otherwise only a 429 says that retries go too fast: other failures do
    /// not depend on them, or they limit the webhook.
    fn base(&mut self, tally: Tally) -> PerMille {
        if !self.limiter.limited {
            return tally.share_without_429().max(UNKNOWN_BASE);
        }
        if self.limiter.base.is_none() && self.base_tally.is_ten() {
            let share = self.base_tally.share_without_429();
            self.limiter.base = (share >= UNKNOWN_BASE).then_some(share);
        }
        self.limiter.base.unwrap_or(UNKNOWN_BASE)
    }

    const fn too_low(&self) -> PerMille {
        if self.limiter.limited {
            TOO_LOW
        } else {
            TOO_LOW_OPEN
        }
    }

    /// What waits for a slot or for the webhook's own maximum is not held up by the rate: opening would not hurt, and a
    /// backlog that the maximum causes may last for ever.
    fn note_calm(
        &mut self,
        tally: Tally,
        demand: Demand,
        waiting: &Waiting,
        limits: &Limits,
        now: Timestamp,
    ) {
        let is_enough = match demand {
            Demand::Met => true,
            Demand::LackedCredit => limits.max_milli() == Some(self.current_rate_milli(limits)),
        };
        let waits_for_rate = match limits.ramp {
            Ramp::On => [waiting.first_due_at, waiting.retry_due_at],
            Ramp::Off => [waiting.first_due_at, None],
        };
        let waits_long = |due_at: &Timestamp| now.since((*due_at).max(self.began_at)) > SHORT_WAIT;
        let is_calm = is_enough
            || !waits_for_rate.iter().flatten().any(waits_long)
            || part_of(tally.ended_milli(now), tally.share()) >= PLENTY_MILLI;
        let since = self.limiter.calm_since.unwrap_or(now);
        self.limiter.calm_since = (is_calm && self.limiter.limited).then_some(since);
    }

    fn is_calm_for_long(&self, now: Timestamp) -> bool {
        let calm_since = self.limiter.calm_since;
        calm_since.is_some_and(|since| now.since(since) >= CALM)
    }

    /// To a little less than what was answered. The rate itself may be more than there was to attempt.
    fn cut(&mut self, tally: Tally, limits: &Limits, now: Timestamp) -> Option<Change> {
        let rate = self.current_rate_milli(limits);
        let share = tally.share();
        let answered = part_of(tally.ended_milli(now).min(rate), share);
        let to = if answered == 0 {
            rate.min(PROBE_MILLI)
        } else {
            limits.clamp_milli(part_of(answered, CUT_TO))
        };
        let good = (share >= UNKNOWN_BASE).then_some(to);
        if to == rate {
            self.tally = Tally::default();
            self.limiter.good_milli = good;
            self.limiter.calm_since = None;
            return None;
        }
        let rates = self.change(self.limiter.cut(to, good, now), limits);
        Some(Change::Cut(rates))
    }

    /// Twice as fast below what was good, and far above it: then it was not the limit.
    fn raise(&mut self, tally: Tally, limits: &Limits, now: Timestamp) -> Option<Change> {
        let rate = self.current_rate_milli(limits);
        let is_used = rate / 2 <= tally.ended_milli(now).saturating_add(MILLI);
        let to = limits.clamp_milli(match self.limiter.good_milli {
            Some(good) if rate < good => rate.saturating_mul(2).min(good),
            Some(good) if rate / 2 < good => rate.saturating_add(rate / 4),
            Some(_) | None => rate.saturating_mul(2),
        });
        if to <= rate || !is_used {
            return None;
        }
        let base_tally = self.base_tally;
        let rates = self.change(self.limiter.raised(to, now), limits);
        self.base_tally = base_tally;
        Some(Change::Raised(rates))
    }

    fn open(&mut self, tally: Tally, waiting: &Waiting, limits: &Limits, now: Timestamp) -> Change {
        let rate = self.current_rate_milli(limits);
        let to = if waiting.is_empty() {
            rate
        } else {
            let part = tally.ended_milli(now).min(rate) / BACKLOG_PART;
            limits.clamp_milli(part.max(limits.start_milli()))
        };
        let rates = self.change(self.limiter.opened(to, now), limits);
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
}

fn finding(tally: Tally, base: PerMille, too_low: PerMille) -> Finding {
    if tally.all_failed() || !tally.reaches(part(base, too_low)) {
        Finding::TooFast
    } else if tally.reaches(part(base, WELL)) {
        Finding::Well
    } else {
        Finding::InDoubt
    }
}

fn part(base: PerMille, part: PerMille) -> PerMille {
    let product = u32::from(base) * u32::from(part) / 1000;
    PerMille::try_from(product).unwrap_or(PerMille::MAX)
}
