//! The shared state of one webhook's limiter, and what each change does to it.

use serde::{Deserialize, Serialize};

use super::limits::Limits;
use super::sample::Symptom;
use super::step::PROBE_MILLI;
use super::{FLOOR_MILLI, PerMille};
use crate::time::Timestamp;

/// What all processes share about the flow to one webhook. Every stored time lies in the past; one that does not counts as
/// now. A store writes it if the stored `epoch` is the one that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limiter {
    /// Whether first attempts need credit.
    pub limited: bool,
    /// Thousandths of an attempt per second.
    pub rate_milli: u32,
    /// A rate that the receiver took; below it the rate is raised faster.
    pub good_milli: Option<u32>,
    /// The share that this receiver answers at any rate, in thousandths: some fail a few per cent of all attempts.
    pub base: Option<PerMille>,
    /// Attempts that began earlier say nothing about the current rate.
    pub changed_at: Timestamp,
    /// First attempts that were due earlier still need credit, and attempts that began earlier say nothing about the
    /// webhook without a limit.
    pub opened_at: Timestamp,
    /// Since when the receiver has kept up and nothing waited long; while limited.
    pub calm_since: Option<Timestamp>,
    /// When something was last seen waiting.
    pub waited_at: Timestamp,
    /// Raised by entering, opening, pause and resume.
    pub epoch: u64,
}

impl Limiter {
    #[must_use]
    pub fn new(limits: &Limits, now: Timestamp) -> Self {
        Self {
            rate_milli: limits.start_milli(),
            changed_at: now,
            waited_at: now,
            ..Self::default()
        }
    }

    /// With every time that lies in the future set to now.
    #[must_use]
    pub fn not_after(self, now: Timestamp) -> Self {
        Self {
            changed_at: self.changed_at.not_after(now),
            opened_at: self.opened_at.not_after(now),
            calm_since: self.calm_since.map(|at| at.not_after(now)),
            waited_at: self.waited_at.not_after(now),
            ..self
        }
    }

    /// The rate under the webhook's current settings.
    #[must_use]
    pub fn current_rate_milli(&self, limits: &Limits) -> u32 {
        limits.clamp_milli(self.rate_milli)
    }

    /// The rate of retries under the webhook's current settings.
    #[must_use]
    pub fn retry_rate_milli(&self, limits: &Limits) -> u32 {
        let rate = self.current_rate_milli(limits);
        limits.retry_milli().map_or(rate, |fixed| fixed.min(rate))
    }

    /// The limiter of a webhook whose owner resumed it: one attempt per second until it has shown that it is well.
    #[must_use]
    pub const fn resumed(self, now: Timestamp) -> Self {
        Self {
            limited: true,
            rate_milli: FLOOR_MILLI,
            good_milli: None,
            base: None,
            changed_at: now,
            calm_since: None,
            waited_at: now,
            epoch: self.epoch.saturating_add(1),
            ..self
        }
    }

    /// The limiter of a webhook that was paused: writes of workers that do not know yet come to nothing.
    #[must_use]
    pub const fn paused(self) -> Self {
        Self {
            epoch: self.epoch.saturating_add(1),
            ..self
        }
    }

    /// Limited, at half of what the receiver answered in the last second. One that answers at all starts at no less than
    /// twice `retry_rate`: a process that shares the webhook has seen only a part of the answers.
    pub(super) fn entered(
        self,
        symptom: Symptom,
        answered_milli: u32,
        limits: &Limits,
        now: Timestamp,
    ) -> Self {
        let least = match symptom {
            Symptom::Down => PROBE_MILLI,
            Symptom::Overloaded => limits.start_milli().saturating_mul(2),
        };
        Self {
            limited: true,
            rate_milli: limits.clamp_milli(least.max(answered_milli / 2)),
            good_milli: None,
            base: None,
            changed_at: now,
            calm_since: None,
            waited_at: now,
            epoch: self.epoch.saturating_add(1),
            ..self
        }
    }

    pub(super) const fn cut(self, to_milli: u32, good_milli: Option<u32>, now: Timestamp) -> Self {
        Self {
            rate_milli: to_milli,
            good_milli,
            base: None,
            changed_at: now,
            calm_since: None,
            ..self
        }
    }

    pub(super) const fn raised(self, to_milli: u32, now: Timestamp) -> Self {
        Self {
            rate_milli: to_milli,
            changed_at: now,
            ..self
        }
    }

    pub(super) const fn opened(self, rate_milli: u32, now: Timestamp) -> Self {
        Self {
            limited: false,
            rate_milli,
            good_milli: Some(rate_milli),
            base: None,
            changed_at: now,
            opened_at: now,
            calm_since: None,
            epoch: self.epoch.saturating_add(1),
            ..self
        }
    }

    /// As if nothing was known about the receiver.
    pub(super) fn reset(self, limits: &Limits, now: Timestamp) -> Self {
        let rate_milli = limits.start_milli();
        let opened = if self.limited {
            self.opened(rate_milli, now)
        } else {
            self
        };
        Self {
            rate_milli,
            good_milli: None,
            base: None,
            ..opened
        }
    }
}

#[cfg(test)]
mod tests;
