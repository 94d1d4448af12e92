//! `postrider events`: show a stored event, deliver it to another webhook, and erase it.

use clap::{Args, Subcommand};
use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::event::{DeliveryAnswer, EventDetail, LateDelivery};

use super::deliveries::table;
use super::erase::{self, EraseArgs};
use super::follow::{WaitArgs, show_retried};
use super::show::{Parts, payload};
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, Tone, printable_line};
use crate::table::facts;
use crate::views::WebhookNames;
use crate::when::short_time;

const AFTER_HELP: &str = "\
Examples:
  postrider events show evt_…
  postrider events show evt_… --payload
  postrider events deliver evt_… --webhook wh_… --wait
  postrider events erase evt_… --wait
  postrider events erase --session customer-42 --yes --wait

`deliver` is for a webhook that did not get the event: it was created later, or was not subscribed. Its \
event types and filter are ignored. To send an event again to a webhook that got it, retry its delivery.

`erase` removes payloads, sessions and the texts of attempts. It cannot be undone. Deliveries that are still open \
are dead then.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct EventsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show an event with its deliveries
    Show(ShowArgs),
    /// Deliver an event to a webhook that did not get it
    Deliver(DeliverArgs),
    /// Erase the content of an event, or of all events of a session
    Erase(EventEraseArgs),
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// Event id, evt_…
    id: String,

    /// Also show the payload, with JSON indented
    #[arg(long)]
    payload: bool,
}

#[derive(Debug, Args)]
struct DeliverArgs {
    /// Event id, evt_…
    id: String,

    /// Webhook that gets the event, wh_…
    #[arg(long, value_name = "ID")]
    webhook: String,

    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Debug, Args)]
struct EventEraseArgs {
    /// Event id, evt_…
    #[arg(required_unless_present = "session", conflicts_with = "session")]
    id: Option<String>,

    /// Erase all events that have a delivery in this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    #[command(flatten)]
    erase: EraseArgs,
}

pub(crate) async fn run(args: EventsArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    match args.action {
        Action::Show(args) => show(&args.id, Parts::of(args.payload), client, out).await,
        Action::Deliver(args) => deliver(args, client, out).await,
        Action::Erase(args) => erase(args, client, out).await,
    }
}

pub(super) async fn show(
    id: &str,
    parts: Parts,
    client: &Client,
    out: Output,
) -> Result<Ending, Failure> {
    let answer = client.get(&["v1", "events", id]).await?;
    if out.wants_json() {
        out.document(&answer.text)?;
        return Ok(Ending::Fine);
    }
    let mut event: EventDetail = answer.read()?;
    let deliveries = std::mem::take(&mut event.deliveries);
    out.line(describe(&event, out))?;
    if deliveries.is_empty() {
        out.line("\nNo deliveries: no webhook was subscribed to this event.")?;
        out.note(format!(
            "To deliver it: postrider events deliver {id} --webhook ID"
        ));
    } else {
        let names = WebhookNames::read(client).await;
        let table = table(deliveries, &names, edge::now()).show(out);
        out.line(format!("\n{table}"))?;
    }
    let content = (&event.payload, &event.payload_base64);
    if let Some(text) = payload(content, &event.content_type, parts, out) {
        out.line(format!("\n{text}"))?;
    }
    Ok(Ending::Fine)
}

fn describe(event: &EventDetail, out: Output) -> String {
    let headline = out.paint(Tone::Strong, printable_line(&event.event_type, 200));
    let facts = facts(
        out,
        [
            ("event", Some(event.id.clone())),
            ("session", event.session_id.clone()),
            ("origin", Some(event.origin.clone())),
            ("accepted", Some(short_time(event.created_at))),
        ],
    );
    format!("{headline}\n{facts}")
}

async fn erase(args: EventEraseArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let (path, question) = match (&args.id, &args.session) {
        (_, Some(session)) => (
            ["v1", "sessions", session],
            format!(
                "Erase the content of all events of the session {}?",
                printable_line(session, 128)
            ),
        ),
        (id, None) => {
            let id = id.as_deref().unwrap_or_default();
            let question = format!("Erase the content of {}?", printable_line(id, 60));
            (["v1", "events", id], question)
        }
    };
    erase::run(&path, &question, &args.erase, client, out).await
}

async fn deliver(args: DeliverArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let path = ["v1", "events", &args.id, "deliveries"];
    let body = LateDelivery {
        webhook_id: args.webhook,
    };
    let answer = client.post(&path, &body).await?;
    let delivery: DeliveryView = answer.read()?;
    if args.wait.wait {
        let planned = DeliveryAnswer {
            id: delivery.id,
            webhook_id: delivery.webhook_id,
        };
        return show_retried(client, planned, &args.wait, out).await;
    }
    if out.wants_json() {
        out.document(&answer.text)?;
        return Ok(Ending::Fine);
    }
    let (id, webhook) = (&delivery.id, &delivery.webhook_id);
    out.line(format!("Created {id}: {} for {webhook}.", delivery.status))?;
    out.note(format!("To see the result: postrider show {id}"));
    Ok(Ending::Fine)
}
