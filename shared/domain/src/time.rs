//! Instants and durations as integer milliseconds, so that arithmetic is exact and can saturate.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant: milliseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The Unix epoch. As the end of a lease it means that the delivery is free.
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the epoch.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The start of this instant's hour; the key of an hourly counter.
    #[must_use]
    pub const fn hour(self) -> Self {
        Self(self.0.div_euclid(3_600_000).saturating_mul(3_600_000))
    }

    /// The start of its day, in UTC.
    #[must_use]
    pub const fn day(self) -> Self {
        Self(self.0.div_euclid(86_400_000).saturating_mul(86_400_000))
    }

    /// Saturates at the latest instant.
    #[must_use]
    pub const fn plus(self, by: Millis) -> Self {
        Self(self.0.saturating_add_unsigned(by.0))
    }

    /// Saturates at the earliest instant.
    #[must_use]
    pub const fn minus(self, by: Millis) -> Self {
        Self(self.0.saturating_sub_unsigned(by.0))
    }

    /// The time from `earlier` to this instant; zero if this instant is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Millis {
        let gap = self.0.saturating_sub(earlier.0);
        Millis(if gap <= 0 { 0 } else { gap.unsigned_abs() })
    }

    /// This instant, or `now` if it lies in the future. A stored time was once some process's present: one that is later
    /// than now was written by a clock that ran ahead, and must not hold anything up until the others catch up.
    #[must_use]
    pub fn not_after(self, now: Self) -> Self {
        self.min(now)
    }

    /// Whether a stored due time has come. Nothing is scheduled further ahead than `longest`: a time beyond that was written
    /// by a clock that ran ahead, and counts as due.
    #[must_use]
    pub const fn is_due(self, now: Self, longest: Millis) -> bool {
        self.0 <= now.0 || self.0 > now.plus(longest).0
    }

    /// Parses an RFC 3339 time such as `2026-02-21T10:00:00Z`.
    pub fn parse_rfc3339(text: &str) -> Result<Self, TimeError> {
        let at: jiff::Timestamp = text.parse().map_err(|_| TimeError)?;
        Ok(Self(at.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 with milliseconds, always in UTC.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "@{}ms", self.0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 time such as 2026-02-21T10:00:00Z")]
pub struct TimeError;

/// A span of time in whole milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(u64);

impl Millis {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub const fn new(ms: u64) -> Self {
        Self(ms)
    }

    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The sum of both spans, saturating.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// A span of the past as people read it: whole seconds, rounded to the nearest, from one second on.
    #[must_use]
    pub const fn to_nearest_second(self) -> Self {
        if self.0 >= 1000 {
            Self::from_seconds(self.0.saturating_add(500) / 1000)
        } else {
            self
        }
    }
}

impl From<Millis> for Duration {
    fn from(span: Millis) -> Self {
        Self::from_millis(span.0)
    }
}

impl From<Duration> for Millis {
    fn from(span: Duration) -> Self {
        Self(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Millis {
    /// Human-readable: `350 ms`, `5s`, `2m 30s`, `6h`, `3d 3h`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 1000 {
            return write!(f, "{} ms", self.0);
        }
        let seconds = self.0 / 1000;
        let parts = [
            (seconds / 86_400, "d"),
            (seconds / 3600 % 24, "h"),
            (seconds / 60 % 60, "m"),
            (seconds % 60, "s"),
        ];
        let mut first = true;
        for (count, unit) in parts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{}{count}{unit}", if first { "" } else { " " })?;
            first = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_due_time_further_ahead_than_possible_is_due() {
        let (now, longest) = (Timestamp::from_millis(1_000), Millis::new(100));
        let is_due = |at| Timestamp::from_millis(at).is_due(now, longest);
        assert_eq!([999, 1_000].map(is_due), [true, true]);
        assert_eq!([1_001, 1_100].map(is_due), [false, false]);
        assert_eq!([1_101, i64::MAX].map(is_due), [true, true]);
        let last = Timestamp::from_millis(i64::MAX);
        assert!(!last.is_due(last.minus(longest), longest));
    }

    #[test]
    fn a_time_survives_being_written_and_read() {
        let at = Timestamp::from_millis(1_771_668_000_123);
        assert_eq!(at.to_string(), "2026-02-21T10:00:00.123Z");
        assert_eq!(Timestamp::parse_rfc3339(&at.to_string()), Ok(at));
        assert_eq!(
            Timestamp::parse_rfc3339("2026-02-21T12:00:00.123+02:00"),
            Ok(at)
        );
        assert_eq!(Timestamp::parse_rfc3339("yesterday"), Err(TimeError));
    }

    #[test]
    fn an_hour_and_a_day_begin_at_or_before_each_of_their_instants() {
        let at = |text: String| Timestamp::parse_rfc3339(&text).unwrap();
        for (date, hour, rest) in [
            ("2026-02-21", "10", "00:00"),
            ("2026-02-21", "10", "59:59.999"),
            ("2026-02-21", "00", "00:00"),
            ("2026-02-20", "23", "59:59.999"),
            ("1969-12-31", "23", "30:00"),
        ] {
            let instant = at(format!("{date}T{hour}:{rest}Z"));
            assert_eq!(instant.hour(), at(format!("{date}T{hour}:00:00Z")));
            assert_eq!(instant.day(), at(format!("{date}T00:00:00Z")));
        }
    }

    #[test]
    fn a_span_of_the_past_is_rounded_from_one_second_on() {
        for (ms, rounded) in [
            (0, 0),
            (999, 999),
            (1_000, 1_000),
            (1_499, 1_000),
            (1_500, 2_000),
            (272_104_999, 272_105_000),
        ] {
            assert_eq!(Millis::new(ms).to_nearest_second(), Millis::new(rounded));
        }
    }

    #[test]
    fn a_span_survives_being_a_duration() {
        for ms in [0, 1_500, u64::MAX] {
            let span = Millis::new(ms);
            assert_eq!(Millis::from(Duration::from(span)), span);
        }
        assert_eq!(Millis::from(Duration::MAX), Millis::new(u64::MAX));
    }

    #[test]
    fn arithmetic_saturates() {
        let last = Timestamp::from_millis(i64::MAX);
        assert_eq!(last.plus(Millis::new(u64::MAX)), last);
        assert_eq!(
            Timestamp::from_millis(i64::MIN).minus(Millis::new(1)),
            Timestamp::from_millis(i64::MIN)
        );
        assert_eq!(Timestamp::ZERO.since(last), Millis::ZERO);
    }

    #[test]
    fn a_stored_time_in_the_future_counts_as_now() {
        let now = Timestamp::from_millis(1000);
        let [past, future] = [999, 1001].map(Timestamp::from_millis);
        assert_eq!(past.not_after(now), past);
        assert_eq!(now.not_after(now), now);
        assert_eq!(future.not_after(now), now);
    }

    #[test]
    fn spans_are_human_readable() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_000, "1s"),
            (59_999, "59s"),
            (60_000, "1m"),
            (150_000, "2m 30s"),
            (7_265_000, "2h 1m 5s"),
            (86_400_000, "1d"),
            (272_105_000, "3d 3h 35m 5s"),
        ] {
            assert_eq!(Millis::new(ms).to_string(), text);
        }
    }
}
