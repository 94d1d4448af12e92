//! `postrider aws redrive`: processes again what a function could not process: stream records in S3, and messages in
//! dead-letter queues.

mod bus_events;
mod objects;
pub(super) mod queues;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use self::objects::Bucket;
use super::stack::Stack;
use super::tool::AwsTool;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, plural, printable_line};

const MAX_REASON_CHARS: usize = 300;

const AFTER_HELP: &str = "\
Examples:
  postrider aws redrive --dry-run
  postrider aws redrive

Changes that the publisher gave up on are in the bucket FailedChangesBucket. They are processed again,
and an object is deleted once all of its changes are. Notifications may be sent twice, with the
same ids. Messages in dead-letter queues go back to the queues they came from. Events of an
EventBridge bus are published again; one that was published before is not published twice.

Dead deliveries are neither: they are rows, and `postrider retry --dead` sends them again.
Exit code 1 if something failed again.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct RedriveArgs {
    /// Show what there is; change nothing
    #[arg(long)]
    dry_run: bool,

    /// Bucket with failed stream records [default: that of the stack]
    #[arg(long, value_name = "NAME")]
    bucket: Option<String>,
}

/// What could not be processed and stays where it is.
#[derive(Debug, Serialize)]
struct Unprocessed {
    key: String,
    reason: String,
}

impl Unprocessed {
    /// Reports it, and returns it for the summary.
    fn told(key: String, reason: &str, out: Output) -> Self {
        let reason = printable_line(reason, MAX_REASON_CHARS);
        out.note(format!("{key}: {reason}"));
        Self { key, reason }
    }
}

pub(super) async fn run(
    args: RedriveArgs,
    name: &str,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    let work = async {
        let stack = Stack::find(name, tool).await?;
        let own = stack.outputs.get("FailedChangesBucket").cloned();
        let bucket = args.bucket.or(own).map(|name| Bucket {
            name,
            stack: &stack,
            tool,
        });
        if args.dry_run {
            preview(&stack, bucket.as_ref(), tool, out).await
        } else {
            redrive(&stack, bucket.as_ref(), tool, out).await
        }
    };
    match edge::unless_interrupted(work).await {
        Some(ending) => ending,
        None => {
            out.note("Interrupted. What is left is still there: run it again.");
            Ok(Ending::Interrupted)
        }
    }
}

async fn preview(
    stack: &Stack,
    bucket: Option<&Bucket<'_>>,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    let objects = match bucket {
        Some(bucket) => bucket.list().await?,
        None => Vec::new(),
    };
    let queues = queues::filled(stack, tool).await?;
    if out.wants_json() {
        out.value(&json!({ "objects": objects, "queues": queues }))?;
        return Ok(Ending::Fine);
    }
    out.line(format!(
        "{} with failed stream records.",
        plural(objects.len(), "object")
    ))?;
    for queue in &queues {
        out.line(format!(
            "{} in {}.",
            plural(queue.messages, "message"),
            queue.name
        ))?;
    }
    Ok(Ending::Fine)
}

async fn redrive(
    stack: &Stack,
    bucket: Option<&Bucket<'_>>,
    tool: &AwsTool,
    out: Output,
) -> Result<Ending, Failure> {
    let processed = match bucket {
        Some(bucket) => bucket.process(out).await?,
        None => objects::Processed::default(),
    };
    if processed.objects > 0 && processed.failed.is_empty() {
        queues::forget_objects(stack, tool).await?;
    }
    let bus_events = bus_events::publish(stack, tool, out).await?;
    let queues = queues::filled(stack, tool).await?;
    let mut moved = 0;
    for queue in queues.iter().filter(|it| it.name != bus_events::QUEUE) {
        moved += queues::move_back(queue, tool).await?;
        out.note(format!(
            "{}: {} moved back.",
            queue.name,
            plural(queue.messages, "message")
        ));
    }
    let failed: Vec<_> = processed.failed.iter().chain(&bus_events.failed).collect();
    if out.wants_json() {
        out.value(&json!({
            "objects": processed.objects,
            "records": processed.records,
            "failed": failed,
            "messages_moved": moved,
            "bus_events_published": bus_events.published,
        }))?;
    } else {
        out.line(format!(
            "Processed {} from {}, moved {}, published {} of the bus.",
            plural(processed.records, "record"),
            plural(processed.objects, "object"),
            plural(moved, "message"),
            plural(bus_events.published, "event")
        ))?;
    }
    Ok(Ending::of(failed.is_empty()))
}
