//! Draws a schedule as a table with bars, and describes the outcome of an outage.

use postrider_domain::flow::Ramp;
use postrider_domain::retry::{
    Classifier, OnExhausted, OnRetryAfter, Policy, RetrySettings, RuntimeRetry,
};
use postrider_domain::time::Millis;

use super::schedule::{Fate, Schedule, Window};
use crate::output::{Output, plural};
use crate::table::{Mark, Table};

const BAR_CELLS: u64 = 30;

pub(super) fn headline(settings: &RetrySettings, schedule: &Schedule) -> String {
    let Policy {
        jitter_bps,
        classifier,
        retry_after,
        on_exhausted,
        ..
    } = settings.policy(RuntimeRetry::default());
    let retried = match classifier {
        Classifier::EveryFailure => "retries everything but 2xx",
        Classifier::ByStatus => "retries 429, 5xx and network errors",
    };
    let retry_after = match retry_after {
        OnRetryAfter::Instead => "Retry-After replaces the delay",
        OnRetryAfter::AtLeast => "Retry-After can lengthen the delay",
        OnRetryAfter::Ignore => "Retry-After is ignored",
    };
    let ramp = match settings.retry_ramp() {
        Ramp::On => "retries can go faster than retry_rate",
        Ramp::Off => "retries never exceed retry_rate",
    };
    let exhausted = match on_exhausted {
        OnExhausted::DeadLetter => "then the delivery is dead",
        OnExhausted::FailWebhook => "then the delivery is dead and the webhook fails",
    };
    let jitter = match jitter_bps {
        0 => "no jitter".to_owned(),
        bps => format!("jitter ±{} %", f32::from(bps) / 100.0),
    };
    let attempts = plural(schedule.slots.len(), "attempt");
    let within = length(schedule.length());
    let profile = settings.profile.as_str();
    format!(
        "{profile}: {attempts} within {within}, {exhausted}\n{retried}; {retry_after}; {ramp}; {jitter}"
    )
}

pub(super) fn table(schedule: &Schedule, out: Output) -> String {
    let jittered = schedule
        .slots
        .iter()
        .any(|slot| slot.wait.earliest_ms != slot.wait.latest_ms);
    let whole = schedule.length();
    let rows = schedule.slots.iter().map(|slot| {
        let wait = if slot.attempt == 1 {
            "-".to_owned()
        } else {
            length(slot.wait.planned_ms)
        };
        let bar = bar(slot.elapsed.planned_ms, whole);
        (
            slot.attempt.to_string(),
            wait,
            window(slot.wait),
            length(slot.elapsed.planned_ms),
            bar,
        )
    });
    if jittered {
        let mut table = Table::new(["ATTEMPT", "DELAY", "WITH JITTER", "ELAPSED", ""]);
        rows.for_each(|(attempt, wait, window, elapsed, bar)| {
            table.row(Mark::None, [attempt, wait, window, elapsed, bar]);
        });
        table.show(out)
    } else {
        let mut table = Table::new(["ATTEMPT", "DELAY", "ELAPSED", ""]);
        rows.for_each(|(attempt, wait, _, elapsed, bar)| {
            table.row(Mark::None, [attempt, wait, elapsed, bar]);
        });
        table.show(out)
    }
}

/// Describes the outcome of an outage in the worst case, which starts just before the first attempt.
pub(super) fn fate(fate: Fate, outage: Millis) -> String {
    let outage_text = length(outage);
    match fate {
        Fate::Delivered(slot) => {
            let late = Millis::new(slot.elapsed.planned_ms.get().saturating_sub(outage.get()));
            let about = if slot.elapsed.earliest_ms == slot.elapsed.latest_ms {
                ""
            } else {
                "about "
            };
            format!(
                "Outage of {outage_text}: delivered by attempt {}, {about}{} after the receiver recovers.",
                slot.attempt,
                length(late)
            )
        }
        Fate::Between(first, last) => format!(
            "Outage of {outage_text}: delivered by attempt {} to {}, depending on jitter, after {} at the latest.",
            first.attempt,
            last.attempt,
            length(last.elapsed.latest_ms)
        ),
        Fate::Lucky(slot) => format!(
            "Outage of {outage_text}: dead, unless jitter makes the last attempt ({}) late enough.",
            slot.attempt
        ),
        Fate::Dead => {
            format!("Outage of {outage_text}: dead; the last attempt is too early.")
        }
    }
}

fn window(wait: Window) -> String {
    if wait.earliest_ms == wait.latest_ms {
        return String::new();
    }
    format!("{} to {}", length(wait.earliest_ms), length(wait.latest_ms))
}

/// A duration as text. Short ones show tenths of a second, because jitter makes them relevant.
fn length(span: Millis) -> String {
    match span.get() {
        0 => "0s".to_owned(),
        ms @ 1000..60_000 if ms % 1000 >= 100 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        _ => span.to_string(),
    }
}

/// The elapsed share as a bar, in eighths of a character; never empty.
fn bar(part: Millis, whole: Millis) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if part.get() == 0 {
        return "▏".to_owned();
    }
    let cells = BAR_CELLS * 8;
    let filled = u128::from(part.get()) * u128::from(cells) / u128::from(whole.get().max(1));
    let filled = usize::try_from(filled).unwrap_or(0).max(1);
    let rest = EIGHTHS.get(filled % 8).copied().unwrap_or_default();
    format!("{}{rest}", "█".repeat(filled / 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use postrider_domain::retry::{Profile, RetryBudget};

    fn drawn(profile: Profile) -> String {
        let settings = RetrySettings {
            profile,
            ..RetrySettings::default()
        };
        let schedule = Schedule::new(&settings, RetryBudget(0));
        format!(
            "{}\n{}",
            headline(&settings, &schedule),
            table(&schedule, Output::new(Format::People, true))
        )
    }

    #[test]
    fn the_default_is_drawn() {
        let expected = "\
gateway: 5 attempts within 1h 12m 30s, then the delivery is dead
retries everything but 2xx; Retry-After is ignored; retries never exceed retry_rate; no jitter
ATTEMPT  DELAY  ELAPSED
1        -      0s          ▏
2        30s    30s         ▏
3        2m     2m 30s      █
4        10m    12m 30s     █████▏
5        1h     1h 12m 30s  ██████████████████████████████";
        assert_eq!(drawn(Profile::Gateway), expected);
    }

    #[test]
    fn jitter_has_its_own_column() {
        let drawn = drawn(Profile::PublicApi);
        for part in [
            "jitter ±10 %",
            "Retry-After replaces the delay",
            "retries can go faster than retry_rate",
            "4.5s to 5.5s",
            "22.5s to 27.5s",
            "webhook fails",
        ] {
            assert!(drawn.contains(part), "{part} in {drawn}");
        }
    }

    #[test]
    fn outcomes_of_an_outage_are_described() {
        let schedule = Schedule::new(&RetrySettings::default(), RetryBudget(0));
        let outcome = |seconds| {
            fate(
                schedule.fate(Millis::from_seconds(seconds)),
                Millis::from_seconds(seconds),
            )
        };
        assert_eq!(
            outcome(600),
            "Outage of 10m: delivered by attempt 4, 2m 30s after the receiver recovers."
        );
        assert_eq!(
            outcome(10_800),
            "Outage of 3h: dead; the last attempt is too early."
        );
    }
}
