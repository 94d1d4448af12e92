//! The window of a request for stats.

use postrider_api_types::duration;
use postrider_domain::invalid::Invalid;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::stats::{MAX_SPAN, Window};

pub(crate) const DEFAULT_SPAN: Millis = Millis::from_seconds(86_400);
const MIN_SPAN: Millis = Millis::from_seconds(3600);

/// The parameters that select a window.
#[derive(Debug, Default)]
pub(crate) struct WindowInput<'a> {
    pub(crate) from: Option<&'a str>,
    pub(crate) to: Option<&'a str>,
    pub(crate) window: Option<&'a str>,
}

impl WindowInput<'_> {
    /// The requested hours. Meaningless if there are errors.
    pub(crate) fn check(&self, now: Timestamp, faults: &mut Invalid) -> Window {
        let mut time =
            |name: &str, text: Option<&str>| faults.take(name, Timestamp::parse_rfc3339(text?));
        let from = time("from", self.from);
        // The current instant is included.
        let to = time("to", self.to).unwrap_or(now.plus(Millis::new(1)));
        let span = self.window.map(span);
        faults.require(!matches!(span, Some(None)), "window", || {
            "must be a duration from 1h to 31d, such as 24h or 7d".to_owned()
        });
        faults.require(
            self.window.is_none() || self.from.is_none(),
            "window",
            || "set either `window` or `from`, not both".to_owned(),
        );
        let from = from.unwrap_or_else(|| to.minus(span.flatten().unwrap_or(DEFAULT_SPAN)));
        faults.require(from < to, "from", || "must be before `to`".to_owned());
        faults.require(
            to.since(from) <= MAX_SPAN.plus(Millis::new(1)),
            "from",
            || "must be at most 31 days before `to`".to_owned(),
        );
        Window::covering(from, to)
    }
}

fn span(text: &str) -> Option<Millis> {
    duration::parse(text).filter(|span| (MIN_SPAN..=MAX_SPAN).contains(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_an_hour_to_a_month() {
        assert_eq!(span("1h"), Some(Millis::from_seconds(3600)));
        assert_eq!(span("90m"), span("1h30m"));
        assert_eq!(span("744h"), span("31d"));
        for bad in ["", "h", "0h", "59m", "745h", "32d", "1", "1.5h", " 1h"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
