//! All that a filter finds: a job of the gateway, watched from here.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value, json};

use super::super::filter::FilterArgs;
use crate::client::{Answer, Client};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::shapes::Job;

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Which deliveries, and whether only to count them.
pub(super) struct BulkArgs {
    pub(super) status: &'static str,
    pub(super) dry_run: bool,
    pub(super) filter: FilterArgs,
}

pub(super) async fn run(args: BulkArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let conditions = args
        .filter
        .conditions(Some(args.status.to_owned()), edge::now());
    let filter: Map<String, Value> = conditions
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let answer = client
        .post(
            &["v1", "retries"],
            &json!({ "filter": filter, "dry_run": args.dry_run }),
        )
        .await?;
    let job: Job = answer.read()?;
    let Some(id) = job.id.clone().filter(|_| !args.dry_run) else {
        if out.wants_json() {
            out.document(&answer.text)?;
        } else {
            out.line(format!("{} would be put back.", deliveries(job.matched)))?;
        }
        return Ok(Ending::Fine);
    };
    if !job.is_running() {
        return show(&answer, out);
    }
    let bar = progress_bar(job.matched, out);
    let last = edge::unless_interrupted(watch(client, &id, job, &bar)).await;
    bar.finish_and_clear();
    match last {
        Some(Some(answer)) => show(&answer?, out),
        Some(None) => show(&answer, out),
        None => {
            out.complain(format!("Stopped watching; the gateway goes on with {id}."));
            out.complain(format!("Stop the job itself: postrider retry cancel {id}"));
            Ok(Ending::Interrupted)
        }
    }
}

/// Looks until the job is over; the last answer.
async fn watch(
    client: &Client,
    id: &str,
    mut job: Job,
    bar: &ProgressBar,
) -> Option<Result<Answer, Failure>> {
    let mut last = None;
    while job.is_running() {
        bar.set_position(job.done.unwrap_or(0) + job.failed.unwrap_or(0));
        edge::pause(LOOK_EVERY).await;
        let looked = client.get(&["v1", "retries", id]).await;
        let read = looked.and_then(|answer| Ok((answer.read()?, answer)));
        match read {
            Ok((next, answer)) => {
                job = next;
                last = Some(Ok(answer));
            }
            Err(failure) => return Some(Err(failure)),
        }
    }
    last
}

/// Shows where a job stands; negative if some deliveries could not be put back.
pub(super) fn show(answer: &Answer, out: Output) -> Result<Ending, Failure> {
    let job: Job = answer.read()?;
    let (done, failed) = (job.done.unwrap_or(0), job.failed.unwrap_or(0));
    if out.wants_json() {
        out.document(&answer.text)?;
    } else if job.matched == 0 {
        out.line("No delivery fits; nothing was put back.")?;
    } else {
        let state = job.state.as_deref().unwrap_or("unknown");
        let mut line = format!(
            "{}: {state}, {done} of {} put back",
            job.id.unwrap_or_default(),
            deliveries(job.matched)
        );
        if failed > 0 {
            line.push_str(&format!(
                ", {failed} could not be (being attempted, or their webhook is disabled)"
            ));
        }
        out.line(line)?;
    }
    Ok(Ending::of(failed == 0))
}

fn deliveries(count: u64) -> String {
    if count == 1 {
        "1 delivery".to_owned()
    } else {
        format!("{count} deliveries")
    }
}

fn progress_bar(length: u64, out: Output) -> ProgressBar {
    let target = if out.wants_json() {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    match ProgressStyle::with_template("{bar:30} {pos} of {len}, {eta} left") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
