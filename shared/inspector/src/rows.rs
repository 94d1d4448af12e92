//! Deliveries as table rows.

use postrider_domain::delivery::{Delivery, Status};
use postrider_domain::event::Label;
use postrider_domain::flow::WaitingFor;
use postrider_domain::webhook::Webhook;
use postrider_gateway::waiting::WaitReasons;

use super::page::PageError;
use super::session::Viewer;
use super::site::Site;
use super::text::{self, Markup, Pill, delivery_state};
use crate::App;

/// How much of an error a row shows.
const ERROR_CHARS: usize = 90;

pub(super) struct Row {
    pub(super) id: String,
    /// The end of the event's id: the delivery's own id ends with its webhook's.
    pub(super) short_id: String,
    pub(super) state: Pill,
    pub(super) event_type: String,
    pub(super) webhook_id: String,
    pub(super) webhook: String,
    /// The session, and the URL of its deliveries.
    pub(super) session: Option<(String, String)>,
    pub(super) attempts: String,
    pub(super) created_at: Markup,
    pub(super) next_at: Markup,
    pub(super) error: Option<String>,
}

pub(super) async fn rows(
    app: &App,
    viewer: &Viewer,
    deliveries: &[Delivery],
    webhooks: &[Webhook],
) -> Result<Vec<Row>, PageError> {
    let gateway = &app.gateway;
    let now = gateway.ports.clock.now();
    let waiting = WaitReasons::read(&gateway.manage, deliveries, webhooks, now).await?;
    let named = |row: &Delivery| {
        let webhook = webhooks.iter().find(|webhook| webhook.id == row.id.webhook);
        webhook.map(|webhook| webhook.settings.name.clone())
    };
    let line = |row| line(viewer, row, waiting.reason(row), named(row));
    Ok(deliveries.iter().map(line).collect())
}

/// A session, and the URL of its deliveries.
pub(super) fn session(site: Site, label: &Label) -> (String, String) {
    let text = label.as_str();
    let query: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    (
        text.to_owned(),
        site.path(&format!("/deliveries?session_id={query}")),
    )
}

fn line(
    viewer: &Viewer,
    row: &Delivery,
    waiting_for: Option<WaitingFor>,
    webhook: Option<String>,
) -> Row {
    let (id, webhook_id) = (row.id.to_string(), row.id.webhook.to_string());
    let error = row
        .error_detail
        .clone()
        .filter(|_| row.status != Status::Delivered)
        .map(|error| viewer.shown(error));
    Row {
        short_id: text::short_id(&row.id.event.to_string()),
        id,
        state: delivery_state(row, waiting_for),
        event_type: row.event_type.as_str().to_owned(),
        webhook: webhook.unwrap_or_else(|| text::short_id(&webhook_id)),
        webhook_id,
        session: row
            .session_id
            .as_ref()
            .map(|label| session(viewer.site(), label)),
        attempts: format!("{}/{}", row.attempt_count, row.max_attempts),
        created_at: text::when(row.created_at),
        next_at: text::next_attempt(row, waiting_for),
        error: error.map(|error| text::short(&error, ERROR_CHARS)),
    }
}
