//! `postrider retry`: put deliveries back on a person's word.

mod bulk;
mod settle;
mod watch;

use clap::{Args, Subcommand};
use serde_json::json;

use self::bulk::BulkArgs;
use super::filter::FilterArgs;
use super::follow::{WaitArgs, show_retried};
use crate::client::{Answer, Client};
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::shapes::{Delivery, Planned};

const USAGE: &str = "\
postrider retry [OPTIONS] <ID>
       postrider retry [OPTIONS] <--dead|--failed>
       postrider retry [OPTIONS] <status|cancel> <JOB>";

const AFTER_HELP: &str = "\
Examples:
  postrider retry dlv_… --wait
  postrider retry --dead --webhook wh_… --since 24h --dry-run
  postrider retry --dead --webhook wh_… --since 24h
  postrider retry --dead --type 'task.completed' --since 24h --until 1h --yes --wait --timeout 10m
  postrider retry status job_…
  postrider retry cancel job_…

A bulk retry asks before it begins; --yes answers, and is needed where nobody can be asked. It is a job \
of the gateway: Ctrl-C stops the watching, not the job.

Exit codes:
    0  put back; with --wait all were delivered
    1  some could not be put back, or you said no; with --wait one is dead again or still open
  130  stopped watching with Ctrl-C";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP, override_usage = USAGE, subcommand_negates_reqs = true)]
pub(crate) struct RetryArgs {
    #[command(subcommand)]
    job: Option<JobAction>,

    /// The delivery to send again, dlv_…
    #[arg(required_unless_present_any = ["dead", "failed"], conflicts_with_all = ["dead", "failed"])]
    id: Option<String>,

    /// Even if it was delivered
    #[arg(long, requires = "id")]
    force: bool,

    /// All that are dead
    #[arg(long, conflicts_with = "failed")]
    dead: bool,

    /// All that failed and wait for their next attempt
    #[arg(long)]
    failed: bool,

    /// Only count them and show some
    #[arg(long, conflicts_with = "id")]
    dry_run: bool,

    /// Begin without asking
    #[arg(long, short, conflicts_with = "id")]
    yes: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    filter: FilterArgs,
}

#[derive(Debug, Subcommand)]
enum JobAction {
    /// Show how far a bulk retry is
    Status {
        /// The job's id, job_…
        #[arg(value_name = "JOB")]
        id: String,
    },
    /// Stop a bulk retry; what was put back stays so
    Cancel {
        /// The job's id, job_…
        #[arg(value_name = "JOB")]
        id: String,
    },
}

impl RetryArgs {
    /// Whether it says which deliveries, which a job that runs already knows. Clap could check this itself, but would
    /// then refuse `--json` and the like in the same place, too.
    fn selects(&self) -> bool {
        self.id.is_some()
            || self.force
            || self.dead
            || self.failed
            || self.dry_run
            || self.yes
            || self.wait.wait
            || self.filter.any()
    }
}

pub(crate) async fn run(args: RetryArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    if args.job.is_some() && args.selects() {
        return Err(Failure::Input(
            "status and cancel take the job's id alone".to_owned(),
        ));
    }
    if args.dry_run && args.wait.wait {
        return Err(Failure::Input(
            "--dry-run puts nothing back, so there is nothing to --wait for".to_owned(),
        ));
    }
    match (args.job, args.id) {
        (Some(JobAction::Status { id }), _) => {
            let answer = client.get(&["v1", "retries", &id]).await?;
            watch::show(&answer, out)
        }
        (Some(JobAction::Cancel { id }), _) => {
            let answer = client.delete(&["v1", "retries", &id]).await?;
            watch::show(&answer, out).map(|_| Ending::Fine)
        }
        (None, Some(id)) => {
            let answer = one(&id, args.force, client).await?;
            if args.wait.wait {
                let delivery: Delivery = answer.read()?;
                let planned = Planned {
                    id: delivery.id,
                    webhook_id: delivery.webhook_id,
                };
                return show_retried(client, planned, &args.wait, out).await;
            }
            show_one(&answer, out)
        }
        (None, None) => {
            let status = if args.dead { "dead" } else { "failed" };
            bulk::run(
                BulkArgs {
                    status,
                    dry_run: args.dry_run,
                    yes: args.yes,
                    wait: args.wait,
                    filter: args.filter,
                },
                client,
                out,
            )
            .await
        }
    }
}

async fn one(id: &str, force: bool, client: &Client) -> Result<Answer, Failure> {
    let path = ["v1", "deliveries", id, "retry"];
    let answer = client.post(&path, &json!({ "force": force })).await;
    answer.map_err(|failure| advise(failure, id))
}

fn show_one(answer: &Answer, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        let delivery: Delivery = answer.read()?;
        out.line(format!(
            "{} is {} again and due now.",
            delivery.id, delivery.status
        ))?;
        out.note(format!("How it goes: postrider show {}", delivery.id));
    }
    Ok(Ending::Fine)
}

/// The API's way to send a delivered one again is a field; here it is an option.
fn advise(mut failure: Failure, id: &str) -> Failure {
    if let Failure::Rejected {
        problem,
        advice: advice @ None,
    } = &mut failure
        && problem.code() == Some("delivery_delivered")
    {
        *advice = Some(format!("postrider retry {id} --force"));
    }
    failure
}
