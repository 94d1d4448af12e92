//! Times and durations as operators type them: `2026-02-21T10:00:00Z`, `2h`, `1h30m`, `7d`.

use std::str::FromStr;

use postrider_api_types::{ApiTime, duration};
use postrider_domain::time::{Millis, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WhenError {
    #[error("must be a duration such as 90s, 15m, 2h, 1h30m or 7d")]
    Span,
    #[error(
        "must be an RFC 3339 time such as 2026-02-21T10:00:00Z, or how long ago, such as 2h or 7d"
    )]
    Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Millis);

impl FromStr for Span {
    type Err = WhenError;

    fn from_str(text: &str) -> Result<Self, WhenError> {
        duration::parse(text).map(Self).ok_or(WhenError::Span)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    At(Timestamp),
    Ago(Millis),
}

impl When {
    pub(crate) fn resolve(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(span) => now.minus(span),
        }
    }
}

impl FromStr for When {
    type Err = WhenError;

    fn from_str(text: &str) -> Result<Self, WhenError> {
        if text == "now" {
            return Ok(Self::Ago(Millis::ZERO));
        }
        let at = Timestamp::parse_rfc3339(text).map(Self::At);
        at.or_else(|_| text.parse().map(|Span(span)| Self::Ago(span)))
            .map_err(|_| WhenError::Time)
    }
}

/// A timestamp of the API, shortened to the second.
pub(crate) fn short_time(at: ApiTime) -> String {
    let text = at.to_string();
    match text.get(..19) {
        Some(second) => second.replace('T', " ") + "Z",
        None => text,
    }
}

/// `in 28s`, or `now` if the time has passed.
pub(crate) fn until(ApiTime(at): ApiTime, now: Timestamp) -> String {
    if at > now {
        format!("in {}", to_the_second(at.since(now)))
    } else {
        "now".to_owned()
    }
}

/// A duration rounded up to whole seconds, at least one: `28s`, `6h`.
pub(crate) fn to_the_second(span: Millis) -> Millis {
    Millis::from_seconds(span.get().div_ceil(1000).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    #[test]
    fn times_are_absolute_or_relative_to_now() {
        let when = |text: &str| {
            text.parse::<When>()
                .map(|when| when.resolve(NOW).to_string())
        };
        assert_eq!(
            when("2026-02-21T12:00:00+02:00").unwrap(),
            "2026-02-21T10:00:00.000Z"
        );
        assert_eq!(when("2h").unwrap(), "2026-02-21T08:00:00.000Z");
        assert_eq!(when("7d").unwrap(), "2026-02-14T10:00:00.000Z");
        assert_eq!(when("now").unwrap(), "2026-02-21T10:00:00.000Z");
        for bad in ["", "yesterday", "2026-02-21", "10:00"] {
            assert_eq!(when(bad), Err(WhenError::Time), "{bad}");
        }
    }

    #[test]
    fn timestamps_are_shortened_and_due_times_are_relative() {
        let at = |text: &str| ApiTime(Timestamp::parse_rfc3339(text).unwrap());
        assert_eq!(
            short_time(at("2026-02-21T10:00:00.123Z")),
            "2026-02-21 10:00:00Z"
        );
        assert_eq!(until(at("2026-02-21T10:00:28.500Z"), NOW), "in 29s");
        assert_eq!(until(at("2026-02-21T09:59:00Z"), NOW), "now");
    }
}
