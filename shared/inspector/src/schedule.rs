//! A retry policy as a chart: when each attempt happens, on a scale with room for seconds and days.

use std::fmt::Write;

use postrider_domain::flow::Ramp;
use postrider_domain::retry::{
    Classifier, Jitter, OnExhausted, OnRetryAfter, Policy, Redirects, RetrySettings, RuntimeRetry,
};
use postrider_domain::time::Millis;

use super::text::{self, Markup};

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 36.0;
const LINE_Y: f64 = 34.0;
/// The minimum distance between two labels.
const LABEL_WIDTH: f64 = 64.0;

pub(super) struct Schedule {
    pub(super) picture: Markup,
    pub(super) slots: Vec<Slot>,
    pub(super) summary: String,
    pub(super) rules: Vec<String>,
}

pub(super) struct Slot {
    pub(super) number: u32,
    pub(super) wait: String,
    pub(super) since_first: String,
}

impl Schedule {
    /// The schedule of these settings, with the gateway's defaults and limits.
    pub(super) fn of(settings: &RetrySettings, runtime: RuntimeRetry) -> Self {
        let policy = settings.policy(runtime);
        let attempts = policy.budget.effective_max(settings.max_attempts());
        let times = times(&policy, attempts);
        let whole = times.last().map_or(Millis::ZERO, |(_, since)| *since);
        let slot = |(number, (wait, since)): (u32, &(Millis, Millis))| Slot {
            number,
            wait: if number == 1 {
                "immediately".to_owned()
            } else {
                text::span(*wait)
            },
            since_first: if number == 1 {
                "–".to_owned()
            } else {
                text::span(*since)
            },
        };
        Self {
            picture: picture(&times),
            slots: (1..).zip(&times).map(slot).collect(),
            summary: format!("{attempts} attempts within {}", text::span(whole)),
            rules: rules(&policy, settings.retry_ramp()),
        }
    }
}

/// The delay before each attempt and the time since the first, without jitter.
fn times(policy: &Policy, attempts: u32) -> Vec<(Millis, Millis)> {
    let mut since = Millis::ZERO;
    let mut times = vec![(Millis::ZERO, since)];
    for failures in 1..attempts {
        let wait = policy.backoff(failures, Jitter::NONE);
        since = since.plus(wait);
        times.push((wait, since));
    }
    times
}

fn rules(policy: &Policy, ramp: Ramp) -> Vec<String> {
    let retried = match (policy.classifier, policy.redirects) {
        (Classifier::EveryFailure, _) => "Every response except 2xx is retried.",
        (Classifier::ByStatus, Redirects::Delivered) => {
            "429, 5xx and network errors are retried. A redirect counts as delivered. Other responses are not retried."
        }
        (Classifier::ByStatus, Redirects::Failure) => {
            "429, 5xx, redirects and network errors are retried. Other responses are not."
        }
    };
    let retry_after = match policy.retry_after {
        OnRetryAfter::Instead => {
            "The Retry-After header of a 429 or 503 replaces the scheduled delay."
        }
        OnRetryAfter::AtLeast => {
            "The Retry-After header of a 429 or 503 can lengthen the scheduled delay."
        }
        OnRetryAfter::Ignore => "The receiver's Retry-After header is ignored.",
    };
    let ramp = match ramp {
        Ramp::On => {
            "The rate of retries starts at the retry rate limit and rises while the receiver keeps up."
        }
        Ramp::Off => "Retries never exceed the retry rate limit.",
    };
    let exhausted = match policy.on_exhausted {
        OnExhausted::DeadLetter => {
            "After the last attempt, the delivery is dead. The webhook stays active."
        }
        OnExhausted::FailWebhook => {
            "After the last attempt, the delivery is dead and the webhook fails until you resume it."
        }
    };
    let jitter = match policy.jitter_bps {
        0 => "No jitter.".to_owned(),
        bps => format!("Each delay varies by up to ±{} %.", f32::from(bps) / 100.0),
    };
    let mut rules: Vec<_> = [retried, retry_after, ramp, exhausted]
        .map(str::to_owned)
        .into();
    rules.push(jitter);
    rules
}

/// The position on the axis, on a logarithmic scale.
fn x(since: Millis, whole: Millis) -> f64 {
    let log = |span: Millis| (seconds(span) + 1.0).ln();
    let part = if whole == Millis::ZERO {
        0.0
    } else {
        log(since) / log(whole)
    };
    MARGIN + part * (WIDTH - 2.0 * MARGIN)
}

#[expect(clippy::cast_precision_loss, reason = "at most two years of seconds")]
const fn seconds(span: Millis) -> f64 {
    (span.get() / 1000) as f64
}

fn picture(times: &[(Millis, Millis)]) -> Markup {
    let whole = times.last().map_or(Millis::ZERO, |(_, since)| *since);
    let mut svg = format!(
        "<svg class=\"schedule\" viewBox=\"0 0 {WIDTH} 62\" aria-hidden=\"true\"><line class=\"axis\" x1=\"{MARGIN}\" x2=\"{}\" y1=\"{LINE_Y}\" y2=\"{LINE_Y}\"/>",
        WIDTH - MARGIN
    );
    let end = WIDTH - MARGIN;
    let mut labelled_to = f64::MIN;
    for (n, (_, since)) in times.iter().enumerate() {
        let (x, number) = (x(*since, whole), n + 1);
        let is_last = number == times.len();
        let class = if is_last { "last" } else { "dot" };
        let _ = write!(
            svg,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{LINE_Y}\" r=\"6\"/>"
        );
        // The last attempt is always labelled, so those just before it are not.
        if is_last || (x - labelled_to >= LABEL_WIDTH && end - x >= LABEL_WIDTH) {
            labelled_to = x;
            let since = if n == 0 {
                "0".to_owned()
            } else {
                format!("+{}", text::span(*since))
            };
            // A phone shows only the first and the last time: the others would be too small to read.
            let mid = if n == 0 || is_last { "" } else { " mid" };
            let _ = write!(
                svg,
                "<text class=\"number{mid}\" x=\"{x:.1}\" y=\"20\">{number}</text><text class=\"time{mid}\" x=\"{x:.1}\" y=\"56\">{since}</text>"
            );
        }
    }
    svg.push_str("</svg>");
    Markup(svg)
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::retry::{Profile, RetryBudget};

    #[test]
    fn a_schedule_is_drawn_and_summarized() {
        let settings = RetrySettings::default();
        let schedule = Schedule::of(&settings, RuntimeRetry::default());
        assert_eq!(schedule.summary, "5 attempts within 1h 12m");
        let waits: Vec<_> = schedule
            .slots
            .iter()
            .map(|slot| slot.wait.as_str())
            .collect();
        assert_eq!(waits, ["immediately", "30s", "2m", "10m", "1h"]);
        assert_eq!(schedule.picture.0.matches("<circle").count(), 5);
    }

    #[test]
    fn the_retry_budget_shortens_the_schedule() {
        let budget = RetryBudget(1);
        let runtime = RuntimeRetry {
            budget,
            ..RuntimeRetry::default()
        };
        let schedule = Schedule::of(&RetrySettings::default(), runtime);
        assert_eq!(schedule.slots.len(), 2);
    }

    #[test]
    fn the_shortest_and_the_longest_schedule_fit_the_chart() {
        let once = RetrySettings {
            max_attempts: Some(1),
            ..RetrySettings::default()
        };
        let long = RetrySettings {
            profile: Profile::Custom,
            delays_seconds: Some(vec![604_800; 99]),
            max_backoff_seconds: Some(604_800),
            ..RetrySettings::default()
        };
        for settings in [once, long] {
            let Markup(svg) = Schedule::of(&settings, RuntimeRetry::default()).picture;
            assert!(
                !svg.contains("NaN") && !svg.contains("inf") && !svg.contains("=\"-"),
                "{svg}"
            );
        }
    }
}
