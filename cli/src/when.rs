//! Times and spans as people write them: `2026-02-21T10:00:00Z`, `2h`, `1h30m`, `7d`.

use std::str::FromStr;

use postrider_domain::time::{Millis, Timestamp};

/// A text that is neither a time nor a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WhenError {
    /// Not a span.
    #[error("must be a span such as 90s, 15m, 2h, 1h30m or 7d")]
    Span,
    /// Not a time either.
    #[error(
        "must be an RFC 3339 time such as 2026-02-21T10:00:00Z, or a span back from now such as 2h or 7d"
    )]
    Time,
}

/// A length of time.
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
            let emails = after.bytes().take_while(u8::is_ascii_lowercase).count();
            let (unit, after) = after.split_at_checked(emails).ok_or(WhenError::Span)?;
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

/// An instant, or a span before now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// That instant.
    At(Timestamp),
    /// So long ago.
    Ago(Millis),
}

impl When {
    /// The instant, seen from `now`.
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

/// A time of the API, to the second and easier on the eye.
pub(crate) fn short_time(rfc3339: &str) -> String {
    match Timestamp::parse_rfc3339(rfc3339) {
        Ok(at) => at
            .to_string()
            .get(..19)
            .map_or_else(|| rfc3339.to_owned(), |text| text.replace('T', " ") + "Z"),
        Err(_) => rfc3339.to_owned(),
    }
}

/// `in 28s`, or `now` for what is due.
pub(crate) fn until(rfc3339: &str, now: Timestamp) -> String {
    match Timestamp::parse_rfc3339(rfc3339) {
        Ok(at) if at > now => format!("in {}", to_the_second(at.since(now))),
        Ok(_) => "now".to_owned(),
        Err(_) => rfc3339.to_owned(),
    }
}

/// A span to the second: `28s`, `6h`; what is shorter counts as one.
pub(crate) fn to_the_second(span: Millis) -> Millis {
    Millis::from_seconds(span.get().div_ceil(1000).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    #[test]
    fn spans_are_read() {
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
    fn times_are_absolute_or_count_back_from_now() {
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
    fn times_are_shown_short_and_dues_relative() {
        assert_eq!(
            short_time("2026-02-21T10:00:00.123Z"),
            "2026-02-21 10:00:00Z"
        );
        assert_eq!(short_time("soon"), "soon");
        assert_eq!(until("2026-02-21T10:00:28.500Z", NOW), "in 29s");
        assert_eq!(until("2026-02-21T09:59:00Z", NOW), "now");
    }
}
