//! What only the portal has: its look, who may embed it, and how a customer logs in.

pub(super) mod login;
mod look;

use std::sync::Arc;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};
use http::HeaderValue;
use postrider_gateway::settings::portal::{PortalSettings, SiteOrigin};

use super::{App, assets, live, page_routes};
use crate::site::Site;

/// How the portal looks and who may embed it, ready to be served.
pub struct Portal {
    pub(super) name: String,
    pub(super) logo: Option<String>,
    /// A style sheet with the configured colour.
    pub(super) style: Option<Arc<str>>,
    /// The origins that may embed it, with a space between them; empty if none may.
    pub(super) embedders: String,
    pub(super) policy: HeaderValue,
    /// Whether everyone may see the operator's event types.
    pub(super) public_catalogue: bool,
}

impl Portal {
    #[must_use]
    pub fn of(settings: &PortalSettings) -> Self {
        let origins = settings.frame_ancestors.iter().map(SiteOrigin::as_str);
        let embedders = origins.collect::<Vec<_>>().join(" ");
        let logo = settings.logo.as_ref();
        let images = logo.map(|url| url.origin().ascii_serialization());
        let ancestors = if embedders.is_empty() {
            "'none'"
        } else {
            &embedders
        };
        let policy = super::guard::policy(&images.unwrap_or_default(), ancestors);
        Self {
            name: settings.name.clone(),
            logo: logo.map(ToString::to_string),
            style: settings.color.map(|color| look::style(color).into()),
            policy,
            public_catalogue: settings.public_catalogue,
            embedders,
        }
    }

    pub(super) fn can_be_embedded(&self) -> bool {
        !self.embedders.is_empty()
    }
}

/// The path that a browser opens to use a link.
#[must_use]
pub fn portal_login_path(token: &str) -> String {
    format!("{}?once={token}", Site::Portal.path("/login"))
}

pub(super) fn routes() -> Router<App> {
    let at = |rest| Site::Portal.path(rest);
    let start = || async { Redirect::to(&Site::Portal.path("/webhooks")) };
    Router::new()
        .merge(page_routes(Site::Portal))
        .route(&at(""), get(start))
        .route(&at("/"), get(start))
        .route(&at("/login"), get(login::show).post(login::enter))
        .route(&at("/logout"), post(login::leave))
        .route(&at("/session"), get(super::login::check))
        .route(&at("/stream"), get(live::listen))
        .route(&at("/assets/{name}"), get(assets::get))
}
