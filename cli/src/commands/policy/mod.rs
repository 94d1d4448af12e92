//! `postrider policy`: draws a retry schedule and simulates an outage.

mod draw;
mod schedule;

use clap::Args;
use postrider_api_types::retry::RetryFields;
use postrider_domain::retry::{RetryBudget, RetrySettings};
use serde_json::json;

use self::schedule::{Fate, Schedule};
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::when::Span;

const AFTER_HELP: &str = "\
Examples:
  postrider policy
  postrider policy --profile standard --outage 12h
  postrider policy --profile custom --delays-seconds 10,60,600 --jitter-bps 1000 --outage 5m

With --outage the exit code is 1 if the delivery may die.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct PolicyArgs {
    /// Simulate an outage of the receiver that starts just before the first attempt, such as 3h
    #[arg(long, value_name = "DURATION")]
    outage: Option<Span>,

    /// The gateway's limit on retries (POSTRIDER_RETRY_BUDGET); 0 means no limit
    #[arg(long, value_name = "N", default_value_t = 0)]
    budget: u32,

    #[command(flatten)]
    retry: RetryFields,
}

pub(crate) fn run(args: PolicyArgs, out: Output) -> Result<Ending, Failure> {
    let settings = RetrySettings::from(args.retry);
    settings
        .check()
        .map_err(|errors| Failure::Input(invalid_options(errors)))?;
    let schedule = Schedule::new(&settings, RetryBudget(args.budget));
    let fate = args
        .outage
        .map(|Span(outage)| (schedule.fate(outage), outage));
    if out.wants_json() {
        let outage = fate.map(|(fate, length)| {
            let (first, last) = match fate {
                Fate::Delivered(slot) => (Some(slot.attempt), Some(slot.attempt)),
                Fate::Between(first, last) => (Some(first.attempt), Some(last.attempt)),
                Fate::Lucky(slot) => (Some(slot.attempt), None),
                Fate::Dead => (None, None),
            };
            json!({ "length_ms": length, "delivered_by_at_best": first, "delivered_by_for_sure": last })
        });
        out.value(&json!({ "retry": settings, "attempts": schedule.slots, "outage": outage }))?;
    } else {
        out.line(draw::headline(&settings, &schedule))?;
        out.line(format!("\n{}", draw::table(&schedule, out)))?;
        if let Some((fate, outage)) = fate {
            out.line(format!("\n{}", draw::fate(fate, outage)))?;
        }
    }
    let survives =
        fate.is_none_or(|(fate, _)| matches!(fate, Fate::Delivered(_) | Fate::Between(..)));
    Ok(Ending::of(survives))
}

/// Reports errors by option: `retry.max_attempts` is `--max-attempts` here.
fn invalid_options(errors: postrider_domain::invalid::Invalid) -> String {
    let messages = errors.into_fields().into_iter().map(|error| {
        let option = error.field.trim_start_matches("retry.").replace('_', "-");
        format!("--{option} {}", error.message)
    });
    messages.collect::<Vec<_>>().join("; ")
}
