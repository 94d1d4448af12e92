//! The response to a request that created something.

use std::fmt::Display;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Serialize;

/// 201 with the path of what was created.
pub(crate) struct Created<T> {
    location: String,
    view: T,
}

impl<T> Created<T> {
    /// `collection` is the path that it was posted to.
    pub(crate) fn new(collection: &str, id: impl Display, view: T) -> Self {
        Self {
            location: format!("{collection}/{id}"),
            view,
        }
    }
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        let location = [(header::LOCATION, self.location)];
        (StatusCode::CREATED, location, Json(self.view)).into_response()
    }
}
