//! Tries a template on an event before it is saved.

use bytes::Bytes;
use postrider_domain::event::Event;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::pattern::{EventType, Pattern};
use postrider_domain::template::{
    EventFacts, Facts, RenderError, Rendered, Template, WebhookFacts,
};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::history::History;

use crate::filter_preview::recent;

/// The type of an event that is only an example.
const EXAMPLE_TYPE: &str = "example.event";

/// What a template makes of a stored event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedTemplate {
    pub event: EventId,
    pub event_type: EventType,
    pub result: std::result::Result<Rendered, RenderError>,
}

/// The webhook that a preview is for, or an example.
#[must_use]
pub fn webhook_facts(webhook: Option<(WebhookId, &str)>) -> WebhookFacts {
    let (id, name) = webhook.unwrap_or((WebhookId::from_bytes([0; 16]), "Example"));
    WebhookFacts {
        id: id.to_string(),
        name: name.to_owned(),
    }
}

/// Tries it on a payload that is not part of an event.
pub fn try_on_payload(
    template: &Template,
    payload: &Bytes,
    now: Timestamp,
) -> std::result::Result<Rendered, RenderError> {
    let event = EventFacts {
        id: EventId::from_bytes([0; 16]).to_string(),
        event_type: EXAMPLE_TYPE.to_owned(),
        session_id: None,
        created_at: now.to_string(),
    };
    let webhook = webhook_facts(None);
    template.render(payload, &Facts { event, webhook })
}

/// Tries it on a stored event.
pub fn try_on_event(
    template: &Template,
    event: &Event,
    webhook: WebhookFacts,
) -> std::result::Result<Rendered, RenderError> {
    let event_facts = EventFacts::of(event);
    let facts = Facts {
        event: event_facts,
        webhook,
    };
    template.render(&event.body, &facts)
}

/// Tries it on the last event of one of these types; `None` if there is none.
pub async fn try_on_last_event(
    store: &dyn History,
    tenant: &TenantId,
    event_types: &[Pattern],
    template: &Template,
    webhook: WebhookFacts,
) -> Result<Option<TriedTemplate>> {
    let rows = recent(store, tenant).await?;
    let wanted = rows
        .into_iter()
        .find(|row| event_types.iter().any(|one| one.matches(&row.event_type)));
    let Some(row) = wanted else { return Ok(None) };
    let Some(event) = store.event(tenant, row.id.event).await? else {
        return Ok(None);
    };
    Ok(Some(TriedTemplate {
        event: event.id,
        event_type: event.event_type.clone(),
        result: try_on_event(template, &event, webhook),
    }))
}
