//! `postrider aws sweep`: makes the poller look at every delivery of a period.

use clap::Args;
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::stack::Stack;
use super::tool::{AwsError, AwsTool, Invoked};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::progress::RecordCount;
use crate::when::When;

const AFTER_HELP: &str = "\
Examples:
  postrider aws sweep --from 2026-11-16T00:00:00Z --to 2026-11-17T00:00:00Z
  postrider aws sweep --from 25h

Looks at every delivery that was accepted in this period, and makes sure that the poller sends the open
ones. Run it when the watcher stood still for longer than 24 hours; `restore` does so itself.
It is safe to run at any time and to repeat.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct SweepArgs {
    /// Start of the period: an RFC 3339 time, or how long ago, such as 25h
    #[arg(long, value_name = "TIME")]
    from: When,

    /// End of the period
    #[arg(long, value_name = "TIME", default_value = "now")]
    to: When,
}

pub(super) async fn run(
    args: SweepArgs,
    name: &str,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    let now = edge::now();
    let period = Period {
        from: args.from.resolve(now),
        to: args.to.resolve(now),
    };
    if period.from >= period.to {
        return Err(Failure::Input("--from must be before --to".to_owned()));
    }
    let work = async {
        let stack = Stack::find(name, tool).await?;
        sweep(&stack, period, tool, out).await
    };
    let Some(swept) = edge::unless_interrupted(work).await else {
        out.note("Interrupted. The poller goes on with the rest.");
        return Ok(Ending::Interrupted);
    };
    let swept = swept?;
    if out.wants_json() {
        out.value(&swept)?;
    } else {
        out.line(swept.to_string())?;
    }
    Ok(Ending::Fine)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum Swept {
    Done {
        rows: u64,
        recovered: u64,
    },
    /// The deployed poller is of a version whose deliveries all have an index entry from the start.
    NotNeeded {},
}

impl std::fmt::Display for Swept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done { rows, recovered } => write!(
                f,
                "Deliveries examined: {rows}. Open and without an index entry: {recovered}; the poller sends them now."
            ),
            Self::NotNeeded {} => write!(
                f,
                "Nothing to sweep: in the deployed version every open delivery has an index entry."
            ),
        }
    }
}

/// How far the poller has come, since the sweep started.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Answer {
    ended: bool,
    rows: u64,
    recovered: u64,
}

/// Invokes the poller until the whole period is swept. The poller keeps its position, and goes on by itself every minute if
/// this command is interrupted.
pub(super) async fn sweep(
    stack: &Stack,
    period: Period,
    tool: &AwsTool,
    out: Output,
) -> Result<Swept, Failure> {
    let poller = &stack.resource("PollerFunction")?.physical;
    let event = request(period);
    let count = RecordCount::new(out, "Swept");
    loop {
        let answer = match tool.invoke(poller, &event.to_string()).await? {
            Invoked::Returned(answer) => read(&answer)?,
            Invoked::Failed(reason) => {
                return Err(Failure::Aws(AwsError::Rejected {
                    call: "lambda invoke".to_owned(),
                    code: String::new(),
                    detail: format!("the poller failed: {reason}"),
                }));
            }
        };
        let Some(answer) = answer else {
            return Ok(Swept::NotNeeded {});
        };
        count.set(answer.rows);
        if answer.ended {
            count.finish();
            return Ok(Swept::Done {
                rows: answer.rows,
                recovered: answer.recovered,
            });
        }
    }
}

fn request(period: Period) -> Value {
    json!({"sweep": {"from": period.from.to_string(), "to": period.to.to_string()}})
}

/// `None` from a poller that does not know sweeps and has run a tick instead.
fn read(answer: &Value) -> Result<Option<Answer>, Failure> {
    if answer.get("messages_sent").is_some() {
        return Ok(None);
    }
    Answer::deserialize(answer)
        .map(Some)
        .map_err(|error| Failure::NotUnderstood(format!("the poller's answer: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_is_asked_for_by_its_period() {
        let at = |text: &str| Timestamp::parse_rfc3339(text).unwrap();
        let period = Period {
            from: at("2026-11-16T00:00:00Z"),
            to: at("2026-11-17T00:00:00Z"),
        };
        assert_eq!(
            request(period),
            json!({"sweep": {"from": "2026-11-16T00:00:00.000Z", "to": "2026-11-17T00:00:00.000Z"}})
        );
    }

    #[test]
    fn the_answer_of_the_poller_says_how_far_it_is() {
        let answer = json!({"from": "2026-11-16T00:00:00.000Z", "to": "2026-11-17T00:00:00.000Z", "ended": false,
            "tenant": "default", "rows": 1600, "recovered": 2});
        let answer = read(&answer).unwrap().unwrap();
        assert_eq!(
            (answer.ended, answer.rows, answer.recovered),
            (false, 1600, 2)
        );
    }

    #[test]
    fn a_poller_that_ran_a_tick_instead_is_recognised() {
        let tick = json!({"messages_sent": 0, "oldest_due_age_seconds": 0});
        assert_eq!(read(&tick).unwrap(), None);
        read(&json!({"rows": 1})).unwrap_err();
    }
}
