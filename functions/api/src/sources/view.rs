//! Sources as they are shown: everything but the secret.

use postrider_domain::ids::{SourceId, WebhookId};
use postrider_domain::route::Route;
use postrider_domain::scheme::{CUSTOM, CustomDraft, Scheme};
use postrider_domain::source::Source;
use postrider_domain::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::openapi::words;
use crate::sources::custom::CustomInput;
use crate::views::Time;

/// An inbound sender.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Source)]
pub(crate) struct SourceView {
    #[schema(value_type = String)]
    id: SourceId,
    name: String,
    #[schema(schema_with = schemes)]
    scheme: &'static str,
    /// The path that the sender posts to.
    #[schema(example = "/gateway/webhooks/src_abgkzo5adn36vn6vlk3u2gdxky")]
    url: String,
    /// How the sender signs, if the scheme is `custom`.
    #[schema(required, value_type = Option<CustomInput>)]
    custom: Option<CustomDraft>,
    /// The URL that the sender calls, if its scheme signs that.
    #[schema(required)]
    public_url: Option<String>,
    /// Whether it has a token for Meta's question; the secret stands in for it.
    has_verify_token: bool,
    routes: Vec<RouteView>,
    /// When each replaced secret that is still valid runs out, the latest first.
    secret_expires: Vec<Time>,
    created_at: Time,
    updated_at: Time,
}

/// Where events of some types go.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Route)]
pub(crate) struct RouteView {
    event_type: String,
    intent: String,
    #[schema(required)]
    target_session: Option<String>,
    #[schema(value_type = String)]
    webhook_id: WebhookId,
}

pub(super) fn schemes() -> utoipa::openapi::Object {
    words(Scheme::names())
}

impl SourceView {
    /// As it is at this instant.
    pub(crate) fn of(source: &Source, now: Timestamp) -> Self {
        let settings = &source.settings;
        Self {
            id: source.id,
            name: settings.name.clone(),
            scheme: settings.scheme.name,
            url: Source::path(source.id),
            custom: (settings.scheme.name == CUSTOM).then(|| CustomDraft::from(&*settings.scheme)),
            public_url: settings.public_url.as_ref().map(ToString::to_string),
            has_verify_token: settings.verify_token.is_some(),
            routes: settings.routes.iter().map(RouteView::of).collect(),
            secret_expires: source
                .secrets
                .replaced(now)
                .map(|old| Time(old.expires_at))
                .collect(),
            created_at: Time(source.created_at),
            updated_at: Time(source.updated_at),
        }
    }
}

impl RouteView {
    fn of(route: &Route) -> Self {
        Self {
            event_type: route.event_type.to_string(),
            intent: route.intent.as_str().to_owned(),
            target_session: route.target_session.clone().map(String::from),
            webhook_id: route.webhook_id,
        }
    }
}

/// All sources, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SourceList {
    items: Vec<SourceView>,
    /// Always `null`: the list is never parted.
    #[schema(required)]
    next_cursor: Option<String>,
}

impl SourceList {
    pub(crate) fn of(sources: &[Source], now: Timestamp) -> Self {
        let view = |source| SourceView::of(source, now);
        Self {
            items: sources.iter().map(view).collect(),
            next_cursor: None,
        }
    }
}

/// The routes of a source, in order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RouteList {
    routes: Vec<RouteView>,
}

impl RouteList {
    pub(crate) fn of(source: &Source) -> Self {
        Self {
            routes: source.settings.routes.iter().map(RouteView::of).collect(),
        }
    }
}

/// A secret that was replaced.
#[derive(Serialize, ToSchema)]
#[schema(as = RotatedSourceSecret)]
pub(crate) struct RotatedView {
    /// Until when the one before is valid.
    pub(crate) previous_expires_at: Time,
}
