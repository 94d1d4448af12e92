//! `postrider show`: one delivery with its attempts and what to do next.

mod describe;
mod timeline;

use clap::Args;

pub(super) use self::describe::{Parts, describe};
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider show dlv_…
  postrider show dlv_… --payload
  postrider show dlv_… --json | jq '.attempts[] | [.at, .status_code, .elapsed_ms]'

The bar of an attempt shows how long it took, relative to the longest one: d is DNS, c connect, t TLS, \
w waiting for the first byte, b the body.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ShowArgs {
    /// Delivery id, dlv_…
    id: String,

    /// Also show the payload, with JSON indented
    #[arg(long)]
    payload: bool,
}

pub(crate) async fn run(args: ShowArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let answer = client.get(&["v1", "deliveries", &args.id]).await?;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        let parts = if args.payload {
            Parts::WithPayload
        } else {
            Parts::WithoutPayload
        };
        out.line(describe(&answer.read()?, parts, out))?;
    }
    Ok(Ending::Fine)
}
