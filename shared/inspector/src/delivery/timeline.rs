//! The attempts of a delivery, with the time spent in each phase.

use std::fmt::Write;

use postrider_domain::attempt::Attempt;
use postrider_domain::outcome::Timings;

use crate::site::Site;
use crate::text::{self, Markup, Pill};

/// Attempts shown on a page.
const MAX_STEPS: usize = 50;
/// A shorter attempt gets no bar: its phases round to nothing.
const SHORTEST_BAR_MS: u32 = 10;
/// The width of the longest bar, in SVG units.
const WIDTH: u64 = 1000;

pub(super) struct Step {
    pub(super) number: u32,
    pub(super) at: Markup,
    pub(super) state: Pill,
    pub(super) elapsed: String,
    pub(super) bar: Markup,
    /// The phases with their durations.
    pub(super) phases: String,
    pub(super) error: Option<String>,
    pub(super) response: Option<String>,
    /// The time since the previous attempt.
    pub(super) waited: Option<String>,
}

/// The latest attempts, and how many earlier ones are left out.
pub(super) fn steps(site: Site, attempts: &[Attempt]) -> (Vec<Step>, usize) {
    let earlier = attempts.len().saturating_sub(MAX_STEPS);
    let shown = attempts.get(earlier..).unwrap_or_default();
    let longest = shown.iter().map(|attempt| attempt.timings.total_ms).max();
    let longest = u64::from(longest.unwrap_or(0)).max(1);
    let mut before = None;
    let step = |attempt: &Attempt| {
        let waited = before
            .replace(attempt.at)
            .map(|before| attempt.at.since(before).to_nearest_second());
        Step {
            number: attempt.number,
            at: text::when(attempt.at),
            state: state(attempt),
            elapsed: text::elapsed(attempt.timings.total_ms),
            bar: bar(&attempt.timings, longest),
            phases: phases(&attempt.timings),
            // With a status code, the error only repeats it.
            error: attempt
                .error
                .clone()
                .filter(|_| attempt.status_code.is_none())
                .map(|error| site.shown(error)),
            response: attempt
                .response_body
                .clone()
                .filter(|body| !body.trim().is_empty()),
            waited: waited.map(text::span),
        }
    };
    (shown.iter().map(step).collect(), earlier)
}

fn state(attempt: &Attempt) -> Pill {
    let class = if attempt.error.is_none() {
        "delivered"
    } else {
        "dead"
    };
    let kind = || {
        let error = attempt.error.as_deref().unwrap_or("no response");
        text::short(error.split(':').next().unwrap_or(error), 40)
    };
    let text = attempt
        .status_code
        .map_or_else(kind, |status| format!("HTTP {status}"));
    Pill { class, text }
}

/// The phases in order: CSS class, name, duration.
const fn parts(timings: &Timings) -> [(&'static str, &'static str, Option<u32>); 5] {
    [
        ("dns", "DNS", timings.dns_ms),
        ("connect", "connect", timings.connect_ms),
        ("tls", "TLS", timings.tls_ms),
        ("wait", "waiting for response", timings.first_byte_ms),
        ("body", "body", timings.body_ms),
    ]
}

fn phases(timings: &Timings) -> String {
    let phases = parts(timings).into_iter().filter_map(|(_, name, ms)| {
        let ms = ms?;
        Some(format!("{name} {}", text::elapsed(ms)))
    });
    phases.collect::<Vec<_>>().join(" · ")
}

/// A bar whose length is the duration relative to the longest attempt; empty for a very short attempt. Phases are
/// measured and rounded separately, so the last one is cut at the total.
fn bar(timings: &Timings, longest: u64) -> Markup {
    if timings.total_ms < SHORTEST_BAR_MS {
        return Markup(String::new());
    }
    let scale = |ms: u64| ms * WIDTH / longest;
    let end = scale(u64::from(timings.total_ms)).max(4);
    let mut svg = format!(
        "<svg class=\"bar\" viewBox=\"0 0 {WIDTH} 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"rest\" width=\"{end}\" height=\"10\"/>"
    );
    let mut x = 0;
    for (class, _, ms) in parts(timings) {
        let width = scale(u64::from(ms.unwrap_or(0))).min(end.saturating_sub(x));
        if width > 0 {
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{x}\" width=\"{width}\" height=\"10\"/>"
            );
            x += width;
        }
    }
    svg.push_str("</svg>");
    Markup(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::outcome::Phase;
    use postrider_domain::time::Timestamp;

    fn attempt(number: u32, total_ms: u32) -> Attempt {
        Attempt {
            number,
            version: u64::from(number),
            at: Timestamp::from_millis(i64::from(number) * 30_000),
            status_code: None,
            error: Some("timeout: no answer <b>".to_owned()),
            kind: None,
            phase: Some(Phase::FirstByte),
            timings: Timings {
                connect_ms: Some(5),
                first_byte_ms: Some(total_ms),
                total_ms,
                ..Timings::default()
            },
            response_body: None,
        }
    }

    #[test]
    fn the_latest_attempts_are_shown_with_the_delays_between_them() {
        let attempts: Vec<_> = (1..=60).map(|number| attempt(number, 100)).collect();
        let (steps, earlier) = steps(Site::Inspector, &attempts);
        assert_eq!((steps.len(), earlier), (MAX_STEPS, 10));
        assert_eq!(steps[0].number, 11);
        assert_eq!(steps[1].waited.as_deref(), Some("30s"));
        assert_eq!(steps[1].state.text, "timeout");
        assert_eq!(
            steps[1].phases,
            "connect 5 ms · waiting for response 100 ms"
        );
    }

    #[test]
    fn a_bar_never_exceeds_its_total() {
        let Markup(svg) = bar(&attempt(1, 100).timings, 200);
        assert!(svg.contains("x=\"25\" width=\"475\""), "{svg}");
        let Markup(short) = bar(&attempt(1, 10).timings, 100_000);
        assert!(
            !short.contains("NaN") && short.contains("width=\"4\""),
            "{short}"
        );
        let Markup(nothing) = bar(&attempt(1, 9).timings, 9);
        assert_eq!(nothing, "");
    }
}
