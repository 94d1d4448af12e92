//! Live updates of open pages.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use super::fields::Query;
use super::session::{Denied, Viewer};
use crate::App;
use postrider_web::stream;

/// A position in the stream of notifications. A page takes it before it reads anything else and follows the stream from
/// there, so nothing is missed between rendering and listening.
#[derive(Clone, Copy)]
pub(super) struct Place(pub(super) u64);

impl FromRequestParts<App> for Place {
    type Rejection = Denied;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Denied> {
        let viewer = Viewer::from_request_parts(parts, app).await?;
        let newest = app.gateway.ports.store.newest_notification(viewer.tenant());
        let newest = newest.await;
        newest
            .map(Self)
            .map_err(|error| Denied::Failed(error.into()))
    }
}

/// The same as `/v1/stream`, authenticated by the session cookie, because a browser cannot send a token with an event
/// stream. It ends with the session.
pub(super) async fn listen(
    State(app): State<App>,
    viewer: Result<Viewer, Denied>,
    Query(fields): Query,
    headers: HeaderMap,
) -> Response {
    let Ok(viewer) = viewer else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let after = fields.get("after").and_then(|seq| seq.parse().ok());
    let (key, session) = (viewer.key(), Some(viewer.session()));
    stream::follow(Arc::clone(&app.streams), key, after, session, &headers)
        .await
        .into_response()
}
