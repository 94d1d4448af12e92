//! The attempts of a delivery, one per line, with the duration of each phase.

use http::StatusCode;
use postrider_api_types::delivery::{AttemptView, TimingsView};

use crate::output::{Output, Tone, plural, printable_line};
use crate::table::Mark;
use crate::when::short_time;

/// How many attempts are shown; --json has all of them.
const MAX_SHOWN: usize = 50;
const WIDTH: u64 = 40;
/// A shorter attempt gets no bar: its phases round to nothing.
const SHORTEST_BAR_MS: u32 = 10;
const LEGEND: &str = "bars: d DNS · c connect · t TLS · w waiting for the first byte · b body";
/// Longer errors are truncated.
const ERROR_CHARS: usize = 300;

/// The most recent attempts, oldest first.
pub(super) fn timeline(attempts: &[AttemptView], out: Output) -> String {
    let earlier = attempts.len().saturating_sub(MAX_SHOWN);
    let shown = attempts.get(earlier..).unwrap_or_default();
    let longest = shown.iter().map(|attempt| attempt.reply.elapsed_ms).max();
    let mut lines = vec![out.paint(Tone::Strong, "ATTEMPTS")];
    if earlier > 0 {
        lines.push(format!(
            "{} not shown; use --json to see all.",
            plural(earlier, "earlier attempt")
        ));
    }
    if longest.is_some_and(|longest| longest >= SHORTEST_BAR_MS) {
        lines.push(out.paint(Tone::Faint, LEGEND));
    }
    let mut before: Option<&AttemptView> = None;
    for attempt in shown {
        if let Some(waited) = before.map(|before| waited(before, attempt)) {
            lines.push(out.paint(Tone::Faint, format!("     {waited} later")));
        }
        lines.extend(step(attempt, longest.unwrap_or(0).into(), out));
        before = Some(attempt);
    }
    lines.join("\n")
}

fn step(attempt: &AttemptView, longest: u64, out: Output) -> Vec<String> {
    let mark = if attempt.reply.error.is_none() {
        Mark::Good
    } else {
        Mark::Bad
    };
    let elapsed = u64::from(attempt.reply.elapsed_ms);
    let mut lines = vec![format!(
        "{:>3}  {}  {} {}, {}",
        format!("#{}", attempt.number),
        short_time(attempt.reply.at),
        mark.show(out),
        result(attempt),
        duration(elapsed),
    )];
    if attempt.reply.elapsed_ms >= SHORTEST_BAR_MS {
        lines.push(format!(
            "     {}",
            bar(&attempt.reply.timings, elapsed, longest)
        ));
    }
    let phases = attempt.reply.timings.phases().into_iter();
    let phases: Vec<String> = phases
        .map(|(name, ms)| format!("{name} {}", duration(ms.into())))
        .collect();
    if !phases.is_empty() {
        lines.push(out.paint(Tone::Faint, format!("     {}", phases.join(" · "))));
    }
    lines
}

/// `500 Internal Server Error`, or what went wrong and where.
fn result(attempt: &AttemptView) -> String {
    let error = printable_line(
        attempt.reply.error.as_deref().unwrap_or_default(),
        ERROR_CHARS,
    );
    let Some(code) = attempt.reply.status_code else {
        return match &attempt.reply.phase {
            Some(phase) => format!(
                "{error} (in {})",
                printable_line(&phase.as_str().replace('_', " "), 20)
            ),
            None => error,
        };
    };
    let reason = StatusCode::from_u16(code).ok();
    match reason.and_then(|status| status.canonical_reason()) {
        Some(reason) => format!("{code} {reason}"),
        None => code.to_string(),
    }
}

fn waited(before: &AttemptView, attempt: &AttemptView) -> String {
    let span = attempt.reply.at.0.since(before.reply.at.0);
    span.to_nearest_second().to_string()
}

/// A bar of one character per unit of time. Phases are measured and rounded separately, so the last one is truncated at
/// the total; time outside any phase is shown as dots.
fn bar(timings: &TimingsView, elapsed: u64, longest: u64) -> String {
    let scale = |ms: u64| ms.saturating_mul(WIDTH) / longest.max(1);
    let end = scale(elapsed).clamp(1, WIDTH);
    let mut bar = String::new();
    let mut length = 0;
    for (name, ms) in timings.phases() {
        let letter = match name {
            "first byte" => "w",
            other => other.get(..1).unwrap_or("."),
        };
        let part = scale(ms.into()).min(end - length);
        bar.extend((0..part).map(|_| letter));
        length += part;
    }
    bar.extend((length..end).map(|_| "."));
    bar
}

/// `12 ms`, `1.2 s`.
fn duration(ms: u64) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        format!("{}.{} s", ms / 1000, ms % 1000 / 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn attempt(number: u32, at: &str, elapsed: u64, rest: &str) -> AttemptView {
        let json = format!(
            r#"{{"number":{number},"at":"{at}","elapsed_ms":{elapsed},"response_body":null,{rest}}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn attempts_are_shown_with_their_phases_and_the_delays_between_them() {
        let attempts = [
            attempt(
                1,
                "2026-02-21T10:00:00Z",
                2000,
                r#""status_code":null,"phase":"first_byte","error":"timeout: no answer","timings":{"dns_ms":200,"connect_ms":300,"first_byte_ms":1500}"#,
            ),
            attempt(
                2,
                "2026-02-21T10:00:32Z",
                500,
                r#""status_code":503,"phase":null,"error":"HTTP status 503","timings":{"first_byte_ms":400,"body_ms":90}"#,
            ),
        ];
        let out = Output::new(Format::People, true);
        assert_eq!(
            timeline(&attempts, out),
            "ATTEMPTS\n\
             bars: d DNS · c connect · t TLS · w waiting for the first byte · b body\n \
             #1  2026-02-21 10:00:00Z  ✗ timeout: no answer (in first byte), 2.0 s\n     \
             ddddccccccwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\n     \
             dns 200 ms · connect 300 ms · first byte 1.5 s\n     \
             32s later\n \
             #2  2026-02-21 10:00:32Z  ✗ 503 Service Unavailable, 500 ms\n     \
             wwwwwwwwb.\n     \
             first byte 400 ms · body 90 ms"
        );
    }

    #[test]
    fn attempts_a_second_apart_are_shown_so_and_very_short_ones_have_no_bar() {
        let rest = r#""status_code":500,"phase":null,"error":"HTTP status 500","timings":{}"#;
        let attempts = [
            attempt(1, "2026-02-21T10:00:00.000Z", 9, rest),
            attempt(2, "2026-02-21T10:00:01.020Z", 3, rest),
        ];
        let shown = timeline(&attempts, Output::new(Format::People, true));
        assert!(shown.contains(" 1s later"), "{shown}");
        assert!(!shown.contains("..") && !shown.contains("bars:"), "{shown}");
    }

    #[test]
    fn a_bar_is_never_empty_or_too_long() {
        let timings = TimingsView::default();
        assert_eq!(bar(&timings, 0, 0), ".");
        assert_eq!(bar(&timings, u64::MAX, 1).len(), 40);
    }
}
