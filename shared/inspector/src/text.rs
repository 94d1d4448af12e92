//! Times, numbers and states as text.

use std::fmt;

use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::flow::WaitingFor;
use postrider_domain::health::{Health, WebhookStatus};
use postrider_domain::time::{Millis, Timestamp};

/// Markup built only from numbers and fixed words. It must never contain user input: templates insert it unescaped.
pub(super) struct Markup(pub(super) String);

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A time in UTC, which the script rewrites as a relative time.
pub(super) fn when(at: Timestamp) -> Markup {
    Markup(format!("<time datetime=\"{at}\">{}</time>", utc(at)))
}

/// A time, or a dash.
pub(super) fn when_or_never(at: Option<Timestamp>) -> Markup {
    at.map_or_else(|| Markup("<span class=\"none\">–</span>".to_owned()), when)
}

pub(super) fn utc(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

/// A time in the format of a date and time field, in UTC.
pub(super) fn field_time(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.get(17..19).unwrap_or("00");
    let end = if seconds == "00" { 16 } else { 19 };
    text.get(..end).unwrap_or_default().to_owned()
}

/// Milliseconds: `350 ms`, `2.41 s`.
pub(super) fn elapsed(ms: u32) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        format!("{:.2} s", f64::from(ms) / 1000.0)
    }
}

/// A time span in at most two units.
pub(super) fn span(span: Millis) -> String {
    let text = span.to_string();
    let mut parts = text.split(' ');
    match (parts.next(), parts.next()) {
        (Some(first), Some(second)) => format!("{first} {second}"),
        _ => text,
    }
}

/// A number with separators: `1,234,567`.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(super) fn bytes(n: usize) -> String {
    let n = n as u64;
    if n < 1024 {
        format!("{n} bytes")
    } else {
        format!("{} KiB", count(n.div_ceil(1024)))
    }
}

/// Why a webhook has its status, as a sentence; empty if no reason is stored.
pub(super) fn reason(health: &Health) -> String {
    let reason = health.reason.as_ref().map(ToString::to_string);
    sentence(&reason.unwrap_or_default())
}

/// Capitalises a text: stored reasons begin in lower case.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// The start of a text, for a table row.
pub(super) fn short(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}

/// The end of an id: ids created within an hour start alike.
pub(super) fn short_id(id: &str) -> String {
    let (prefix, rest) = id.split_once('_').unwrap_or(("", id));
    let end = rest.get(rest.len().saturating_sub(8)..).unwrap_or(rest);
    format!("{prefix}_…{end}")
}

/// The warning for an active webhook with recent failures. ADR-0040 fixes the wording.
pub(super) const RETRYING: &str = "Recent delivery failures (retrying)";

/// A piece of a text, in code style or not.
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_code: bool,
}

/// Splits a text at its backticks, so a template can show what is between them in code style.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let parts = text.split('`').enumerate();
    parts.map(|(n, text)| Part {
        text,
        is_code: n % 2 == 1,
    })
}

/// A state in a word, with its CSS class.
pub(super) struct Pill {
    pub(super) class: &'static str,
    pub(super) text: String,
}

pub(super) fn delivery_state(row: &Delivery, waiting_for: Option<WaitingFor>) -> Pill {
    let (class, text) = match (row.status, waiting_for) {
        (Status::Pending | Status::Failed, Some(WaitingFor::WebhookResume)) => {
            ("parked", "On hold")
        }
        (Status::Pending, _) if row.lease_owner.is_some() => ("pending", "Attempting"),
        (Status::Pending, _) => ("pending", "Pending"),
        (Status::Failed, _) => ("failed", "Retrying"),
        (Status::Delivered, _) => ("delivered", "Delivered"),
        (Status::Dead, _) => ("dead", "Dead"),
    };
    Pill {
        class,
        text: text.to_owned(),
    }
}

/// When an open delivery is attempted next, or what it waits for.
pub(super) fn next_attempt(row: &Delivery, waiting_for: Option<WaitingFor>) -> Markup {
    match waiting_for {
        Some(WaitingFor::WebhookResume) => Markup("when resumed".to_owned()),
        Some(WaitingFor::RateLimit) => Markup("rate limit".to_owned()),
        Some(WaitingFor::RetryTime) | None => {
            when_or_never(row.next_retry_at.filter(|_| row.status.is_open()))
        }
    }
}

pub(super) fn webhook_state(health: &Health) -> Pill {
    let (class, text) = match health.status {
        WebhookStatus::Active if health.is_degraded() => ("failed", "Degraded"),
        WebhookStatus::Active => ("delivered", "Active"),
        WebhookStatus::Failed => ("dead", "Failed"),
        WebhookStatus::Paused => ("parked", "Paused"),
        WebhookStatus::Disabled => ("dead", "Disabled"),
    };
    Pill {
        class,
        text: text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_formatted() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([12, 1024, 1025].map(bytes), ["12 bytes", "1 KiB", "2 KiB"]);
        assert_eq!(
            [0, 999, 1000, 12_345].map(elapsed),
            ["0 ms", "999 ms", "1.00 s", "12.35 s"]
        );
        assert_eq!(span(Millis::from_seconds(272_105)), "3d 3h");
        assert_eq!(span(Millis::from_seconds(30)), "30s");
        let at = Timestamp::from_millis(1_771_668_000_123);
        assert_eq!(utc(at), "2026-02-21 10:00:00 UTC");
        assert_eq!(field_time(at), "2026-02-21T10:00");
    }

    #[test]
    fn a_text_is_split_at_its_backticks() {
        let split: Vec<_> = parts("run `a b`, then wait")
            .map(|part| (part.text, part.is_code))
            .collect();
        assert_eq!(
            split,
            [("run ", false), ("a b", true), (", then wait", false)]
        );
        assert_eq!(parts("plain").count(), 1);
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(short("grüße an alle", 5), "grüße…");
        assert_eq!(short("kurz", 5), "kurz");
        assert_eq!(sentence("a delivery failed"), "A delivery failed");
        assert_eq!(sentence(""), "");
        assert_eq!(short_id("dlv_abcdefghijklmnop"), "dlv_…ijklmnop");
        assert_eq!(short_id("ü"), "_…ü");
    }
}
