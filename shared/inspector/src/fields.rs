//! What a browser sends: query parameters and form fields.

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use http::{StatusCode, header};

use super::page::PageError;
use crate::App;
use postrider_web::body::{self, MAX_DOCUMENT_BYTES};
use postrider_web::ids::{Id, Identified, Ids};

/// Names and values, in the order received.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of this name that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of this name that are not empty.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(known, _)| known == name);
        values
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The first value of this name, or an empty string.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

/// The query parameters.
pub(super) struct Query(pub(super) Fields);

impl FromRequestParts<App> for Query {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, PageError> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(Fields::parse(query.as_bytes())))
    }
}

/// The id in the path. A malformed id is reported as not found.
pub(super) struct Named<T>(pub(super) T);

impl<T: Identified> FromRequestParts<App> for Named<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, PageError> {
        let Id(id) = Id::from_request_parts(parts, app).await?;
        Ok(Self(id))
    }
}

/// Two ids in the path: an object, and one that belongs to it.
pub(super) struct NamedPair<T, U>(pub(super) T, pub(super) U);

impl<T: Identified, U: Identified> FromRequestParts<App> for NamedPair<T, U> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, PageError> {
        let Ids(owner, owned) = Ids::from_request_parts(parts, app).await?;
        Ok(Self(owner, owned))
    }
}

pub(super) struct Form(pub(super) Fields);

impl FromRequest<App> for Form {
    type Rejection = PageError;

    async fn from_request(request: Request, _: &App) -> Result<Self, PageError> {
        read_form(request, MAX_DOCUMENT_BYTES).await.map(Self)
    }
}

/// A form with a schema and examples, which are three times as long in a form as they are.
pub(super) struct LargeForm(pub(super) Fields);

const MAX_LARGE_FORM_BYTES: usize = 4 * MAX_DOCUMENT_BYTES;

impl FromRequest<App> for LargeForm {
    type Rejection = PageError;

    async fn from_request(request: Request, _: &App) -> Result<Self, PageError> {
        read_form(request, MAX_LARGE_FORM_BYTES).await.map(Self)
    }
}

async fn read_form(request: Request, max_bytes: usize) -> Result<Fields, PageError> {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let is_form = kind.is_some_and(|kind| {
        kind.as_bytes()
            .starts_with(b"application/x-www-form-urlencoded")
    });
    if !is_form {
        let title = "Unsupported form";
        let detail = "The Content-Type must be application/x-www-form-urlencoded.";
        return Err(PageError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            title,
            detail,
        ));
    }
    let bytes = body::read_bytes(&parts.headers, body, max_bytes).await?;
    Ok(Fields::parse(&bytes))
}
