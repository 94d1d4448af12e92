//! `postrider shadow`: send a delivery to another URL and compare the answers.

mod show;

use clap::Args;
use serde_json::json;

use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::when::Span;

const AFTER_HELP: &str = "\
The stored body goes out once, signed with the webhook's secrets and with the header postrider-shadow: true. The
delivery stays as it is: no attempt, no count, no announcement. Exits with 0 if the other URL answered 2xx, else with 1.

Examples:
  postrider shadow dlv_… --to https://staging.example.com/hooks
  postrider shadow dlv_… --to https://staging.example.com/hooks --json | jq '.comparison'";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ShadowArgs {
    /// The delivery to send, dlv_…
    id: String,

    /// Where to send it
    #[arg(long, value_name = "URL")]
    to: String,

    /// How long it may take, 1s to 20s; the webhook's timeout unless given
    #[arg(long, value_name = "SPAN")]
    timeout: Option<Span>,

    /// Send the webhook's own headers and the signatures without a time along; credentials among them go to that URL
    #[arg(long)]
    include_headers: bool,
}

pub(crate) async fn run(args: ShadowArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let seconds = args.timeout.map(|Span(span)| span.get().div_ceil(1000));
    let wish = json!({
        "url": args.to,
        "timeout_seconds": seconds,
        "include_headers": args.include_headers,
    });
    let path = ["v1", "deliveries", &args.id, "shadow"];
    let answer = client.post(&path, &wish).await?;
    let shadowed: show::Shadowed = answer.read()?;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        out.line(show::describe(&shadowed, out))?;
        out.note("The delivery is as it was: this was no attempt.");
    }
    Ok(Ending::of(shadowed.is_success()))
}
