//! What `postrider events erase` and `postrider tenants delete` share: confirmation and progress.

use std::time::Duration;

use clap::Args;
use postrider_api_types::erasure::ErasureView;

use crate::client::{Answer, Client};
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::progress::Waiting;

const POLL_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(super) struct EraseArgs {
    /// Do not ask for confirmation; required without a terminal
    #[arg(long)]
    yes: bool,

    /// Wait until it is done
    #[arg(long)]
    wait: bool,
}

/// Asks for confirmation, sends the request and shows its progress.
pub(super) async fn run(
    path: &[&str],
    question: &str,
    args: &EraseArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    if !args.yes && !is_confirmed(question)? {
        out.note("Nothing was erased.");
        return Ok(Ending::Unsuccessful);
    }
    let request = client.request(http::Method::DELETE, path)?;
    let begun = client.send(request).await?;
    let first: ErasureView = begun.read()?;
    if !args.wait {
        return show(&begun, out);
    }
    match edge::unless_interrupted(to_its_end(client, begun, out)).await {
        Some(last) => show(&last?, out),
        None => {
            let id = first.id;
            out.complain(format!(
                "Stopped watching; the gateway continues with {id}."
            ));
            Ok(Ending::Interrupted)
        }
    }
}

fn is_confirmed(question: &str) -> Result<bool, Failure> {
    edge::ask_yes(question)?.ok_or_else(|| {
        Failure::Input(
            "this cannot be undone. Confirm with --yes, because standard input is not a terminal"
                .to_owned(),
        )
    })
}

async fn to_its_end(client: &Client, begun: Answer, out: Output) -> Result<Answer, Failure> {
    let mut answer = begun;
    let mut erasure: ErasureView = answer.read()?;
    let progress = Waiting::new(out, &erasure.id);
    while erasure.is_running() {
        progress.set(&counts(&erasure));
        edge::pause(POLL_EVERY).await;
        answer = client.get(&["v1", "erasures", &erasure.id]).await?;
        erasure = answer.read()?;
    }
    progress.finish();
    Ok(answer)
}

fn show(answer: &Answer, out: Output) -> Result<Ending, Failure> {
    if out.wants_json() {
        out.document(&answer.text)?;
        return Ok(Ending::Fine);
    }
    let erasure: ErasureView = answer.read()?;
    out.line(in_words(&erasure))?;
    if erasure.is_running() {
        out.note("The gateway continues in the background.");
    }
    Ok(Ending::Fine)
}

/// `ers_…: done, 3 events with 5 deliveries`.
fn in_words(erasure: &ErasureView) -> String {
    format!("{}: {}, {}", erasure.id, erasure.state, counts(erasure))
}

fn counts(erasure: &ErasureView) -> String {
    let mut counts = format!(
        "{} with {}",
        number(erasure.events, "event", "events"),
        number(erasure.deliveries, "delivery", "deliveries")
    );
    let settings = [
        (erasure.webhooks, "webhook", "webhooks"),
        (erasure.sources, "source", "sources"),
        (erasure.keys, "key", "keys"),
        (erasure.event_types, "event type", "event types"),
    ];
    for (count, one, many) in settings {
        if count > 0 {
            counts = format!("{counts}, {}", number(count, one, many));
        }
    }
    counts
}

fn number(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erasure_in_words() {
        let view: ErasureView = serde_json::from_value(serde_json::json!({
            "id": "ers_a", "kind": "tenant", "state": "running", "event_id": null, "tenant": "acme", "phase": "events",
            "events": 1, "deliveries": 3, "webhooks": 2, "sources": 0, "keys": 1, "event_types": 0, "key_id": "key_a",
            "begun_at": "2026-02-21T10:00:00Z", "ended_at": null
        }))
        .unwrap();
        assert_eq!(
            in_words(&view),
            "ers_a: running, 1 event with 3 deliveries, 2 webhooks, 1 key"
        );
    }
}
