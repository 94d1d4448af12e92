//! `postrider aws restore`: both tables as they were at a point in time, in steps that can be repeated.

mod names;
mod plan;
mod run;
mod script;

use clap::Args;
use postrider_domain::time::Timestamp;
use serde_json::json;

use self::names::Restored;
use self::plan::Plan;
use self::run::Run;
use super::functions;
use super::stack::Stack;
use super::tool::AwsTool;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider aws restore --to 2026-11-17T02:55:00Z --print > restore.sh
  postrider aws restore --to 2026-11-17T02:55:00Z

DynamoDB restores into new tables, which then take the place of the current ones; those are kept. Each
step asks first. If it stops, for whatever reason, run the same command again: it continues where it was.

What was accepted after that time is gone and has to be published again. What was delivered after it is
open again and is sent once more, with the same webhook-id. Keys revoked and secrets rotated since are as
they were.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct RestoreArgs {
    /// The time to restore, in the last 35 days, such as 2026-11-17T02:55:00Z
    // Not "2h" ago: the same command has to mean the same time when it is run again.
    #[arg(long, value_name = "TIME", value_parser = absolute)]
    to: Timestamp,

    /// Print the commands as a shell script; run nothing
    #[arg(long)]
    print: bool,

    /// Do not ask before each step
    #[arg(long, short, conflicts_with = "print")]
    yes: bool,
}

fn absolute(text: &str) -> Result<Timestamp, String> {
    let parsed = Timestamp::parse_rfc3339(text);
    let at = parsed.map_err(|_| "must be an RFC 3339 time such as 2026-11-17T02:55:00Z")?;
    // DynamoDB restores to a second.
    Ok(Timestamp::from_millis(at.as_seconds() * 1000))
}

pub(super) async fn run(
    args: RestoreArgs,
    name: &str,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    if args.to > edge::now() {
        return Err(Failure::Input("--to is in the future".to_owned()));
    }
    let stack = Stack::find(name, tool).await?;
    let plan = Plan::new(&stack, functions::all(&stack, tool).await?, args.to)?;
    if args.print {
        out.line(script::of(&plan, tool))?;
        return Ok(Ending::Fine);
    }
    let asks = if args.yes {
        Asks::Never
    } else {
        Asks::EachStep
    };
    let work = Run {
        plan: &plan,
        stack: &stack,
        tool,
        out,
        asks,
    };
    match edge::unless_interrupted(work.all()).await {
        Some(Ok(Finished::Complete)) => complete(&plan, out),
        Some(Ok(Finished::Declined)) => {
            out.note("Stopped. Run the same command again to continue.");
            Ok(Ending::Unsuccessful)
        }
        Some(Err(failure)) => {
            out.note("Stopped. Fix the cause, then run the same command again to continue.");
            Err(failure)
        }
        None => {
            out.note("Interrupted. Run the same command again to continue.");
            Ok(Ending::Interrupted)
        }
    }
}

/// Whether the operator confirms each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    EachStep,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finished {
    Complete,
    Declined,
}

fn complete(plan: &Plan, out: Output) -> Result<Ending, Failure> {
    let Restored {
        deliveries,
        configs,
    } = &plan.restored;
    if out.wants_json() {
        out.value(&json!({
            "restored_to": plan.at.to_string(),
            "deliveries_table": deliveries.target,
            "configs_table": configs.target,
            "previous_deliveries_table": deliveries.source,
            "previous_configs_table": configs.source,
        }))?;
        return Ok(Ending::Fine);
    }
    out.line(format!("Restored {} to {}.", plan.stack, plan.at))?;
    out.note(format!(
        "It uses {} and {} now. The previous tables, {} and {}, are kept: delete them when you no longer need them.",
        deliveries.target, configs.target, deliveries.source, configs.source
    ));
    out.note(
        "Next: have publishers publish again what was accepted since, and run: postrider aws check",
    );
    Ok(Ending::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_absolute_and_to_the_second() {
        let at = absolute("2026-11-17T02:55:00.750+01:00").unwrap();
        assert_eq!(at.to_string(), "2026-11-17T01:55:00.000Z");
        absolute("2h").unwrap_err();
    }
}
