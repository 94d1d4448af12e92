//! `postrider sources diagnose`: why requests were rejected, what would have matched, and what to do.

mod captured;
mod request_file;
mod show;

use clap::Args;
use http::{Method, StatusCode};
use postrider_api_types::rejected::{
    RejectedParameters, RejectedRequestDetail, RejectedRequestList,
};
use serde_json::json;
use serde_json::value::RawValue;

use self::captured::CapturedArgs;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider sources diagnose src_…               recent rejected requests of a source
  postrider sources diagnose src_… rfd_…         one of them, with its headers and body
  postrider sources diagnose --request request.txt --scheme github --secret-file secret.txt

A captured request is a file with header lines, an empty line and the body, byte for byte,
optionally preceded by a request line such as `POST /path?query HTTP/1.1`.

The last 100 rejected requests per source are stored for 7 days. The exit code is 1 if any request
was rejected.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct DiagnoseArgs {
    /// Source id, src_…
    #[arg(required_unless_present = "request", conflicts_with = "request")]
    id: Option<String>,

    /// Id of one rejected request, rfd_…
    #[arg(value_name = "REJECTED", requires = "id")]
    refused: Option<String>,

    /// How many recent rejected requests to show, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=100))]
    limit: u8,

    #[command(flatten)]
    captured: CapturedArgs,
}

pub(super) async fn run(
    args: DiagnoseArgs,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    match (args.id, args.refused) {
        (Some(id), Some(refused)) => one(&id, &refused, client, out).await,
        (Some(id), None) => recent(&id, args.limit, client, out).await,
        (None, _) => captured::run(args.captured, out),
    }
}

async fn one(id: &str, refused: &str, client: &Client, out: Output) -> Result<Ending, Failure> {
    let path = ["v1", "sources", id, "refused", refused];
    let answer = client.get(&path).await?;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        let refused: RejectedRequestDetail = answer.read()?;
        out.line(show::one(&refused, out))?;
    }
    Ok(Ending::Unsuccessful)
}

async fn recent(id: &str, limit: u8, client: &Client, out: Output) -> Result<Ending, Failure> {
    let request = client.request(Method::GET, &["v1", "sources", id, "refused"])?;
    let request = request.query(&RejectedParameters {
        limit: Some(limit.to_string()),
    });
    let answer = client.send(request).await?;
    let list: RejectedRequestList = answer.read()?;
    let ending = Ending::of(list.items.is_empty());
    let looked_at = look(id, &list, client).await?;
    if out.wants_json() {
        let document = match &looked_at {
            Some(documents) => {
                json!({ "items": documents, "kept": list.kept, "counted": list.counted })
            }
            None => answer.read()?,
        };
        out.value(&document)?;
        return Ok(ending);
    }
    let refused = match &looked_at {
        Some(documents) => documents
            .iter()
            .map(|document| crate::client::read(document.get()))
            .collect::<Result<Vec<RejectedRequestDetail>, Failure>>()?,
        None => {
            out.note("What would have matched is shown only to keys with the scope manage.");
            list.items
                .into_iter()
                .map(RejectedRequestDetail::from)
                .collect()
        }
    };
    if refused.is_empty() {
        out.note("No requests were rejected in the last 7 days.");
    } else {
        out.line(show::recent(&refused, id, out))?;
    }
    if let Some(rest) = show::rest(list.counted) {
        out.note(rest);
    }
    Ok(ending)
}

/// Each request with what would have matched; none if the key may not see that.
async fn look(
    id: &str,
    list: &RejectedRequestList,
    client: &Client,
) -> Result<Option<Vec<Box<RawValue>>>, Failure> {
    let mut documents = Vec::with_capacity(list.items.len());
    for item in &list.items {
        match client
            .get(&["v1", "sources", id, "refused", &item.id])
            .await
        {
            Ok(answer) => documents.push(answer.read()?),
            // Newer requests have replaced it since the list was read.
            Err(Failure::Rejected { problem, .. }) if problem.status == StatusCode::NOT_FOUND => {}
            Err(Failure::Rejected { problem, .. }) if problem.status == StatusCode::FORBIDDEN => {
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(Some(documents))
}
