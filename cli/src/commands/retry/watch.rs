//! Watches a bulk retry.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use postrider_api_types::Word;
use postrider_api_types::job::RetryJobView;

use super::bulk::{Bulk, matched};
use crate::client::{Answer, Client};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const POLL_EVERY: Duration = Duration::from_millis(500);

/// Starts the job and watches it to its end.
pub(super) async fn run(bulk: &Bulk<'_>) -> Result<Ending, Failure> {
    let answer = bulk.start().await?;
    let job: RetryJobView = answer.read()?;
    match edge::unless_interrupted(to_its_end(bulk.client, answer, bulk.out)).await {
        Some(last) => show(&last?, bulk.out),
        None => {
            stopped(&job, bulk.out);
            Ok(Ending::Interrupted)
        }
    }
}

/// Prints that the job continues, and how to see or cancel it.
pub(super) fn stopped(job: &RetryJobView, out: Output) {
    let id = job.id.as_deref().unwrap_or_default();
    out.complain(format!(
        "Stopped watching; the gateway continues with {id}."
    ));
    out.complain(format!("To see its progress: postrider retry status {id}"));
    out.complain(format!("To cancel it: postrider retry cancel {id}"));
}

/// Polls until the job ends; returns its final state.
pub(super) async fn to_its_end(
    client: &Client,
    started: Answer,
    out: Output,
) -> Result<Answer, Failure> {
    let mut answer = started;
    let mut job: RetryJobView = answer.read()?;
    let Some(id) = job.id.clone() else {
        return Ok(answer);
    };
    let progress = Progress::new(out);
    while job.is_running() {
        let total = if job.counted {
            job.matched.to_string()
        } else {
            format!("at least {}", job.matched)
        };
        progress.set(job.done + job.failed, job.matched, total);
        edge::pause(POLL_EVERY).await;
        answer = client.get(&["v1", "retries", &id]).await?;
        job = answer.read()?;
    }
    Ok(answer)
}

/// Shows the state of a job; negative if some deliveries could not be requeued.
pub(super) fn show(answer: &Answer, out: Output) -> Result<Ending, Failure> {
    let job: RetryJobView = answer.read()?;
    let failed = job.failed;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        out.line(in_words(&job))?;
    }
    Ok(Ending::of(failed == 0))
}

pub(super) const fn matches_none(job: &RetryJobView) -> bool {
    job.matched == 0 && job.counted
}

pub(super) fn in_words(job: &RetryJobView) -> String {
    if matches_none(job) {
        return "No deliveries match; nothing was requeued.".to_owned();
    }
    let mut line = format!(
        "{}: {}, {} of {} requeued",
        job.id.as_deref().unwrap_or_default(),
        job.state.as_ref().map_or("unknown", Word::as_str),
        job.done,
        matched(job)
    );
    let failed = job.failed;
    if failed > 0 {
        line.push_str(&format!(
            ", {failed} not requeued (in flight, or the webhook is disabled)"
        ));
    }
    line
}

/// A progress bar on a terminal, lines elsewhere, nothing with --json.
pub(super) struct Progress {
    bar: ProgressBar,
    lines: Option<Output>,
}

impl Progress {
    pub(super) fn new(out: Output) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if out.wants_json() || !is_terminal {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let style = ProgressStyle::with_template("{bar:30} {pos} of {msg}, {eta} left");
        Self {
            bar: match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            },
            lines: (!out.wants_json() && !is_terminal).then_some(out),
        }
    }

    /// Shows `done` of `length`, which may grow; `total` is the length in words.
    pub(super) fn set(&self, done: u64, length: u64, total: String) {
        if let Some(out) = self.lines
            && done != self.bar.position()
        {
            out.note(format!("{done} of {total}"));
        }
        self.bar.set_length(length);
        self.bar.set_message(total);
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
