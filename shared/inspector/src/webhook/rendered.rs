//! What a template makes of a recent event, before it is saved.

use postrider_domain::ids::WebhookId;
use postrider_domain::template::Template;
use postrider_gateway::template_preview::{TriedTemplate, try_on_last_event, webhook_facts};

use super::form::WebhookForm;
use crate::App;
use crate::page::PageError;
use crate::payload::Payload;
use crate::session::Viewer;
use crate::text;

pub(super) enum Preview {
    NoEvent,
    Tried(Tried),
}

pub(super) struct Tried {
    pub(super) event_id: String,
    pub(super) short_id: String,
    pub(super) event_type: String,
    /// Why it cannot be rendered.
    pub(super) error: Option<String>,
    pub(super) query: Option<String>,
    pub(super) body: Option<Payload>,
}

pub(super) async fn read(
    app: &App,
    viewer: &Viewer,
    id: Option<WebhookId>,
    form: &WebhookForm,
    template: &Template,
) -> Result<Preview, PageError> {
    let webhook = webhook_facts(id.map(|id| (id, form.name.as_str())));
    let (store, patterns) = (&*app.gateway.ports.store, form.patterns());
    let tried = try_on_last_event(store, viewer.tenant(), &patterns, template, webhook).await?;
    Ok(tried.map_or(Preview::NoEvent, |tried| Preview::Tried(Tried::of(tried))))
}

impl Tried {
    fn of(tried: TriedTemplate) -> Self {
        let event_id = tried.event.to_string();
        let (error, rendered) = match tried.result {
            Ok(rendered) => (None, Some(rendered)),
            Err(error) => (Some(error.to_string()), None),
        };
        Self {
            short_id: text::short_id(&event_id),
            event_id,
            event_type: tried.event_type.as_str().to_owned(),
            error,
            query: rendered.as_ref().and_then(|one| one.query.clone()),
            body: rendered.map(|one| Payload::of_body(&one.body, one.content_type.as_str(), true)),
        }
    }
}
