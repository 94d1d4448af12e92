//! `postrider show`: one delivery with its attempts and what to do next, or one event with its deliveries.

mod describe;
mod timeline;

use clap::Args;
use postrider_api_types::delivery::{DeliveryDetail, DeliveryView};
use postrider_api_types::webhook::WebhookView;
use postrider_domain::delivery::Status;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::EventId;

pub(super) use self::describe::{Parts, describe, payload};
use super::events;
use crate::client::Client;
use crate::failure::{Ending, Failure};
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  postrider show dlv_…
  postrider show dlv_… --payload
  postrider show dlv_… --json | jq '.attempts[] | [.at, .status_code, .elapsed_ms]'

The bar of an attempt shows how long it took, relative to the longest one: d is DNS, c connect, t TLS, \
w waiting for the first byte, b the body. An attempt of less than 10 ms has no bar.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ShowArgs {
    /// Delivery id, dlv_…, or event id, evt_…
    id: String,

    /// Also show the payload, with JSON indented
    #[arg(long)]
    payload: bool,
}

pub(crate) async fn run(args: ShowArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let parts = Parts::of(args.payload);
    if args.id.starts_with(EventId::PREFIX) {
        return events::show(&args.id, parts, client, out).await;
    }
    let answer = client.get(&["v1", "deliveries", &args.id]).await?;
    if out.wants_json() {
        out.document(&answer.text)?;
    } else {
        let detail: DeliveryDetail = answer.read()?;
        out.line(describe(&detail, parts, out))?;
        if detail.delivery.status == Status::Dead
            && let Some(hint) = resume_first(&detail.delivery, client).await
        {
            out.line(hint)?;
        }
    }
    Ok(Ending::Fine)
}

/// How to resume the webhook of a dead delivery, if it is stopped. None for a key that may not read webhooks.
async fn resume_first(delivery: &DeliveryView, client: &Client) -> Option<String> {
    let path = ["v1", "webhooks", &delivery.webhook_id];
    let webhook: WebhookView = client.get(&path).await.ok()?.read().ok()?;
    let is_stopped = webhook
        .status
        .known()
        .is_some_and(WebhookStatus::is_stopped);
    is_stopped.then(|| {
        format!(
            "Its webhook is {}. To resume it first: postrider webhooks resume {}",
            webhook.status, webhook.id
        )
    })
}
