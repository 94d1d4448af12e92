//! The search field: finds an id or a session.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use postrider_domain::event::Label;
use postrider_domain::ids::{DeliveryId, EventId, JobId, KeyId, SourceId, WebhookId};
use postrider_gateway::GatewayError;
use postrider_ports::history::Filter;

use super::fields::Query;
use super::page::{Frame, PageError, Section, html};
use super::session::Viewer;
use super::text;
use crate::App;

/// How much of the search text is repeated.
const SHOWN_CHARS: usize = 120;

#[derive(Template)]
#[template(path = "search.html")]
struct NothingPage {
    frame: Frame,
    text: String,
    /// The kind of object with this id; none if the text is not an id.
    what: Option<&'static str>,
}

/// Redirects to the object with this id or to the deliveries of this session.
pub(super) async fn find(
    State(app): State<App>,
    viewer: Viewer,
    Query(fields): Query,
) -> Result<Response, PageError> {
    let text = fields.text("q");
    let Some(place) = Place::of(&text) else {
        return Ok(Redirect::to("/inspector/deliveries").into_response());
    };
    if place.is_there(&app, &viewer).await? {
        return Ok(Redirect::to(&place.path(&text)).into_response());
    }
    let page = NothingPage {
        frame: Frame::new("No results", Section::Elsewhere, &viewer),
        text: text::short(&text, SHOWN_CHARS),
        what: place.what(),
    };
    Ok(html(StatusCode::NOT_FOUND, &page))
}

/// What a search text refers to.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Delivery(DeliveryId),
    Event(EventId),
    Webhook(WebhookId),
    Source(SourceId),
    Job(JobId),
    Key(KeyId),
    Session(Label),
    /// Neither an id nor a valid session.
    Nowhere,
}

impl Place {
    fn of(text: &str) -> Option<Self> {
        fn read<T: std::str::FromStr>(text: &str, place: impl Fn(T) -> Place) -> Option<Place> {
            text.parse().ok().map(place)
        }
        let named = read(text, Self::Delivery)
            .or_else(|| read(text, Self::Event))
            .or_else(|| read(text, Self::Webhook))
            .or_else(|| read(text, Self::Source))
            .or_else(|| read(text, Self::Job))
            .or_else(|| read(text, Self::Key))
            .or_else(|| read(text, Self::Session));
        (!text.is_empty()).then(|| named.unwrap_or(Self::Nowhere))
    }

    fn path(&self, text: &str) -> String {
        let folder = match self {
            Self::Delivery(_) => "deliveries",
            Self::Event(_) => "events",
            Self::Webhook(_) => "webhooks",
            Self::Source(_) => "sources",
            Self::Job(_) => "retries",
            Self::Key(_) => return "/inspector/keys".to_owned(),
            Self::Session(_) | Self::Nowhere => {
                let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
                return format!("/inspector/deliveries?session_id={text}");
            }
        };
        format!("/inspector/{folder}/{text}")
    }

    const fn what(&self) -> Option<&'static str> {
        match self {
            Self::Delivery(_) => Some("delivery"),
            Self::Event(_) => Some("event"),
            Self::Webhook(_) => Some("webhook"),
            Self::Source(_) => Some("source"),
            Self::Job(_) => Some("bulk retry"),
            Self::Key(_) => Some("API key"),
            Self::Session(_) | Self::Nowhere => None,
        }
    }

    async fn is_there(&self, app: &App, viewer: &Viewer) -> Result<bool, PageError> {
        let (gateway, tenant) = (&app.gateway, viewer.tenant());
        let store = &gateway.ports.store;
        let found = |answer: Result<(), GatewayError>| match answer {
            Ok(()) => Ok(true),
            Err(GatewayError::NotFound { .. }) => Ok(false),
            Err(error) => Err(PageError::from(error)),
        };
        match self {
            Self::Delivery(id) => Ok(store.delivery(tenant, *id).await?.is_some()),
            Self::Event(id) => Ok(store.event(tenant, *id).await?.is_some()),
            Self::Webhook(id) => found(gateway.manage.get(tenant, *id).await.map(drop)),
            Self::Source(id) => found(gateway.sources.get(tenant, *id).await.map(drop)),
            Self::Job(id) => found(gateway.retries.job(tenant, *id).await.map(drop)),
            Self::Key(id) => {
                let keys = gateway.keyring.list(tenant).await?;
                Ok(keys.iter().any(|key| key.id == *id))
            }
            Self::Session(session) => {
                let filter = Filter {
                    session_id: Some(session.clone()),
                    ..Filter::default()
                };
                let page = store.list(tenant, &filter, 1, None).await?;
                Ok(!page.items.is_empty())
            }
            Self::Nowhere => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_its_page_and_anything_else_is_a_session() {
        let path = |text: &str| Place::of(text).map(|place| place.path(text));
        let webhook = WebhookId::from_bytes([7; 16]).to_string();
        assert_eq!(
            path(&webhook),
            Some(format!("/inspector/webhooks/{webhook}"))
        );
        let event = EventId::from_bytes([7; 16]).to_string();
        assert_eq!(path(&event), Some(format!("/inspector/events/{event}")));
        let session = "/inspector/deliveries?session_id=wh_x%26y";
        assert_eq!(path("wh_x&y").as_deref(), Some(session));
        assert_eq!(path(""), None);
        assert_eq!(Place::of("\u{7}"), Some(Place::Nowhere));
    }
}
