//! Deliveries as a table.

use postrider_api_types::delivery::DeliveryView;
use postrider_domain::time::Timestamp;

use super::ListArgs;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::output::{Output, printable_line};
use crate::pages;
use crate::table::Table;
use crate::views::{ShowDelivery, WebhookNames};
use crate::when::short_time;

const DEFAULT_LIMIT: usize = 50;

pub(super) async fn run(args: ListArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let now = edge::now();
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT);
    let query = args.filter.parameters(args.status, now);
    let listing = pages::first(client, &["v1", "deliveries"], &query, limit).await?;
    if out.wants_json() {
        out.value(&listing)?;
        return Ok(Ending::Fine);
    }
    if listing.items.is_empty() {
        out.note("No deliveries match.");
        return Ok(Ending::Fine);
    }
    let names = WebhookNames::read(client).await;
    let deliveries: Vec<DeliveryView> = listing.read()?;
    let is_any_on_hold = deliveries.iter().any(DeliveryView::is_on_hold);
    out.line(table(deliveries, &names, now).show(out))?;
    if is_any_on_hold {
        out.note("To send deliveries on hold: postrider webhooks resume ID");
    }
    if listing.next_cursor.is_some() {
        out.note(format!(
            "Only the first {limit} are shown; use --limit to see more."
        ));
    }
    Ok(Ending::Fine)
}

pub(in crate::commands) fn table(
    deliveries: Vec<DeliveryView>,
    names: &WebhookNames,
    now: Timestamp,
) -> Table {
    let mut table = Table::new([
        "ID",
        "STATUS",
        "ATTEMPTS",
        "TYPE",
        "WEBHOOK",
        "CREATED",
        "NEXT OR ERROR",
    ]);
    for delivery in deliveries {
        let remark = remark(&delivery, now);
        let created = short_time(delivery.created_at);
        let (mark, tries) = (delivery.mark(), delivery.tries());
        table.row(
            mark,
            [
                delivery.id,
                delivery.status.to_string(),
                tries,
                delivery.event_type,
                printable_line(names.of(&delivery.webhook_id), 30),
                created,
                remark,
            ],
        );
    }
    table
}

fn remark(delivery: &DeliveryView, now: Timestamp) -> String {
    let next = delivery.next(now);
    let error = delivery
        .error_detail
        .as_deref()
        .filter(|_| !delivery.is_delivered());
    let parts = [next, error.map(|error| printable_line(error, 60))];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
