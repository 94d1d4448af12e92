//! What happens, live, for a page that somebody looks at.

use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, StatusCode};

use super::fields::Asked;
use super::session::{Outside, Viewer};
use crate::{Api, stream};

/// A place in what is announced. A page asks for it before it reads anything else: what comes after it is followed, so
/// that nothing is missed between making the page and listening.
#[derive(Clone, Copy)]
pub(super) struct Place(pub(super) u64);

impl FromRequestParts<Api> for Place {
    type Rejection = Outside;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Outside> {
        let viewer = Viewer::from_request_parts(parts, api).await?;
        let newest = api.gateway.ports.store.newest_notification(viewer.tenant());
        let newest = newest.await;
        newest
            .map(Self)
            .map_err(|error| Outside::Trouble(error.into()))
    }
}

/// The stream of `/v1/stream`, by the session's cookie: a browser cannot send a token with it. It ends with the session.
pub(super) async fn listen(
    State(api): State<Api>,
    viewer: Result<Viewer, Outside>,
    Asked(fields): Asked,
    headers: HeaderMap,
) -> Response {
    let Ok(viewer) = viewer else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let after = fields.get("after").and_then(|seq| seq.parse().ok());
    let (key, end) = (viewer.key(), Some(viewer.ends_at()));
    stream::follow(api, key, after, end, &headers)
        .await
        .into_response()
}
