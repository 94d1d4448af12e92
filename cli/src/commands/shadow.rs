//! `postrider shadow`: send a delivery to another URL and compare the responses.

mod show;

use clap::Args;
use postrider_api_types::shadow::{NewShadow, ShadowView};

use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;
use crate::when::Span;

const AFTER_HELP: &str = "\
Sends the stored body once, signed with the webhook's secrets and with the header postrider-shadow: true. \
The delivery does not change: no attempt, no stats, no notification.

Exit code 0 if the other URL responded with 2xx, 1 otherwise.

Examples:
  postrider shadow dlv_… --to https://staging.example.com/hooks
  postrider shadow dlv_… --to https://staging.example.com/hooks --json | jq '.comparison'";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ShadowArgs {
    /// Delivery id, dlv_…
    id: String,

    /// URL to send it to
    #[arg(long, value_name = "URL")]
    to: String,

    /// Timeout, 1s to 20s [default: the webhook's timeout]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Span>,

    /// Also send the webhook's custom headers and the signatures without a timestamp; these may contain credentials
    #[arg(long)]
    include_headers: bool,
}

pub(crate) async fn run(args: ShadowArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let seconds = args.timeout.map(|Span(span)| span.get().div_ceil(1000));
    let body = NewShadow {
        url: args.to,
        timeout_seconds: seconds.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX)),
        include_headers: args.include_headers,
    };
    let path = ["v1", "deliveries", &args.id, "shadow"];
    let answer = client.post(&path, &body).await?;
    let shadowed: ShadowView = answer.read()?;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        out.line(show::describe(&shadowed, out))?;
        out.note("The delivery is unchanged: this does not count as an attempt.");
    }
    Ok(Ending::of(show::is_success(&shadowed)))
}
