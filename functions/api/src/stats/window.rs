//! A stretch of time, as a caller writes it.

use postrider_domain::invalid::Invalid;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::stats::{MAX_SPAN, Window};

/// How far back figures go unless told otherwise.
pub(crate) const DEFAULT_SPAN: Millis = Millis::from_seconds(86_400);

/// The parameters that say when.
#[derive(Debug, Default)]
pub(crate) struct WindowInput {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
    pub(crate) window: Option<String>,
}

impl WindowInput {
    /// The hours that are meant; what it returns beside faults means nothing.
    pub(crate) fn check(&self, now: Timestamp, faults: &mut Invalid) -> Window {
        let mut time = |name: &str, text: &Option<String>| {
            let text = text.as_deref()?;
            faults.take(name, Timestamp::parse_rfc3339(text))
        };
        let from = time("from", &self.from);
        // This very instant counts, too.
        let to = time("to", &self.to).unwrap_or(now.plus(Millis::new(1)));
        let span = self.window.as_deref().map(span);
        faults.require(!matches!(span, Some(None)), "window", || {
            "must be 1h to 744h, or 1d to 31d".to_owned()
        });
        faults.require(
            self.window.is_none() || self.from.is_none(),
            "window",
            || "must not stand beside from: either says where it begins".to_owned(),
        );
        let from = from.unwrap_or_else(|| to.minus(span.flatten().unwrap_or(DEFAULT_SPAN)));
        faults.require(from < to, "from", || "must be before to".to_owned());
        faults.require(
            to.since(from) <= MAX_SPAN.plus(Millis::new(1)),
            "from",
            || "must be at most 31 days before to".to_owned(),
        );
        Window::covering(from, to)
    }
}

/// `24h` or `7d`.
fn span(text: &str) -> Option<Millis> {
    let (count, seconds) = match (text.strip_suffix('h'), text.strip_suffix('d')) {
        (Some(hours), _) => (hours, 3600),
        (None, Some(days)) => (days, 86_400),
        (None, None) => return None,
    };
    let is_plain = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let count = is_plain.then(|| count.parse::<u64>().ok()).flatten()?;
    let span = Millis::from_seconds(count.saturating_mul(seconds));
    (Millis::ZERO < span && span <= MAX_SPAN).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_hours_or_days_up_to_a_month() {
        assert_eq!(span("1h"), Some(Millis::from_seconds(3600)));
        assert_eq!(span("744h"), span("31d"));
        for bad in [
            "",
            "h",
            "d",
            "0h",
            "745h",
            "32d",
            "1",
            "1m",
            "+1h",
            "-1h",
            "1.5h",
            "1h2d",
            " 1h",
            "99999999999999999999h",
            "18446744073709551615d",
            "１h",
        ] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
