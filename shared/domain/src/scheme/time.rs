//! When a request was signed, and whether that is within the window.

use super::Field;
use crate::time::Timestamp;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    /// Where to find it: the first of these fields that is present.
    pub at: Vec<Field>,
    pub form: TimeForm,
    /// How far it may be from now, in either direction.
    pub window_seconds: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeForm {
    /// Whole seconds since the epoch.
    #[default]
    Seconds,
    /// Whole milliseconds since the epoch.
    Millis,
    Rfc3339,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeFit {
    /// The scheme has no timestamp, or it is within the window.
    Fits,
    /// Missing or malformed.
    Malformed,
    /// Outside the window: seconds after now, negative if before.
    Off(i64),
}

impl Time {
    pub(super) fn fit(&self, text: &str, now: Timestamp) -> TimeFit {
        let Some(at) = self.form.read(text) else {
            return TimeFit::Malformed;
        };
        let off = self.form.between(now, at);
        match self.window_seconds {
            Some(window) if off.unsigned_abs() > self.form.units(window) => {
                TimeFit::Off(self.form.seconds(off))
            }
            Some(_) | None => TimeFit::Fits,
        }
    }
}

impl TimeForm {
    /// Integers are strict: only digits.
    fn read(self, text: &str) -> Option<Timestamp> {
        let whole = || {
            let is_strict = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i64>().ok().filter(|_| is_strict)
        };
        match self {
            Self::Seconds => whole()?.checked_mul(1000).map(Timestamp::from_millis),
            Self::Millis => whole().map(Timestamp::from_millis),
            Self::Rfc3339 => Timestamp::parse_rfc3339(text).ok(),
        }
    }

    pub fn write(self, at: Timestamp) -> String {
        match self {
            Self::Seconds => at.as_seconds().to_string(),
            Self::Millis => at.as_millis().to_string(),
            Self::Rfc3339 => at.to_string(),
        }
    }

    /// How far `at` is after `now`, in the units of this format: whole seconds must not be compared in milliseconds.
    fn between(self, now: Timestamp, at: Timestamp) -> i64 {
        match self {
            Self::Seconds => at.as_seconds().saturating_sub(now.as_seconds()),
            Self::Millis | Self::Rfc3339 => at.as_millis().saturating_sub(now.as_millis()),
        }
    }

    fn units(self, seconds: u32) -> u64 {
        match self {
            Self::Seconds => u64::from(seconds),
            Self::Millis | Self::Rfc3339 => u64::from(seconds) * 1000,
        }
    }

    fn seconds(self, units: i64) -> i64 {
        match self {
            Self::Seconds => units,
            Self::Millis | Self::Rfc3339 => units / 1000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_strict() {
        for form in [TimeForm::Seconds, TimeForm::Millis] {
            assert!(form.read("1771668000").is_some());
            for bad in [
                "",
                "+1",
                "-1",
                " 1",
                "1.0",
                "1e9",
                "0x1",
                "99999999999999999999",
            ] {
                assert_eq!(form.read(bad), None, "{bad}");
            }
        }
        assert_eq!(TimeForm::Rfc3339.read("1771668000"), None);
    }

    #[test]
    fn a_time_is_off_by_whole_seconds() {
        let now = Timestamp::from_millis(1_771_668_000_000);
        for (form, late, early) in [
            (TimeForm::Seconds, "1771668302", "1771667698"),
            (TimeForm::Millis, "1771668302900", "1771667697100"),
            (
                TimeForm::Rfc3339,
                "2026-02-21T10:05:02.900Z",
                "2026-02-21T09:54:57.100Z",
            ),
        ] {
            let time = Time {
                at: Vec::new(),
                form,
                window_seconds: Some(300),
            };
            assert_eq!(time.fit(late, now), TimeFit::Off(302), "{form:?}");
            assert_eq!(time.fit(early, now), TimeFit::Off(-302), "{form:?}");
        }
    }

    #[test]
    fn a_time_is_parsed_as_it_is_written() {
        let at = Timestamp::from_millis(1_771_668_000_000);
        for form in [TimeForm::Seconds, TimeForm::Millis, TimeForm::Rfc3339] {
            assert_eq!(form.read(&form.write(at)), Some(at));
        }
    }
}
