//! Times and durations as operators type them: `2026-02-21T10:00:00Z`, `2h`, `1h30m`, `7d`.

use std::str::FromStr;

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
        let mut total: u64 = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (count, after) = rest.split_at_checked(digits).ok_or(WhenError::Span)?;
            let letters = after.bytes().take_while(u8::is_ascii_lowercase).count();
            let (unit, after) = after.split_at_checked(letters).ok_or(WhenError::Span)?;
            let part = count
                .parse()
                .ok()
                .zip(millis_of(unit))
                .and_then(|(n, unit): (u64, u64)| n.checked_mul(unit));
            total = part
                .and_then(|part| total.checked_add(part))
                .ok_or(WhenError::Span)?;
            rest = after;
        }
        if text.is_empty() {
            Err(WhenError::Span)
        } else {
            Ok(Self(Millis::new(total)))
        }
    }
}

fn millis_of(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return None,
    })
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
pub(crate) fn short_time(rfc3339: &str) -> String {
    match Timestamp::parse_rfc3339(rfc3339) {
        Ok(at) => at
            .to_string()
            .get(..19)
            .map_or_else(|| rfc3339.to_owned(), |text| text.replace('T', " ") + "Z"),
        Err(_) => rfc3339.to_owned(),
    }
}

/// `in 28s`, or `now` if the time has passed.
pub(crate) fn until(rfc3339: &str, now: Timestamp) -> String {
    match Timestamp::parse_rfc3339(rfc3339) {
        Ok(at) if at > now => format!("in {}", to_the_second(at.since(now))),
        Ok(_) => "now".to_owned(),
        Err(_) => rfc3339.to_owned(),
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
    fn durations_are_parsed() {
        let span = |text: &str| text.parse::<Span>().map(|Span(span)| span.get());
        assert_eq!(span("90s"), Ok(90_000));
        assert_eq!(span("250ms"), Ok(250));
        assert_eq!(span("1h30m"), Ok(5_400_000));
        assert_eq!(span("7d"), Ok(604_800_000));
        assert_eq!(span("1w"), span("7d"));
        assert_eq!(span("0s"), Ok(0));
        for bad in [
            "",
            "h",
            "5",
            "5x",
            "5 m",
            "-5m",
            "1.5h",
            "5H",
            "ä",
            "5ä",
            "99999999999999999999d",
            "18446744073709551615w",
        ] {
            assert_eq!(span(bad), Err(WhenError::Span), "{bad}");
        }
    }

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
        assert_eq!(
            short_time("2026-02-21T10:00:00.123Z"),
            "2026-02-21 10:00:00Z"
        );
        assert_eq!(short_time("soon"), "soon");
        assert_eq!(until("2026-02-21T10:00:28.500Z", NOW), "in 29s");
        assert_eq!(until("2026-02-21T09:59:00Z", NOW), "now");
    }
}
