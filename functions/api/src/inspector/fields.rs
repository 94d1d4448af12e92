//! What a browser sends: the query of an address, the fields of a form.

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use http::{StatusCode, header};

use super::page::Trouble;
use crate::extract::{Id, Identified, Ids, MAX_DOCUMENT_BYTES};
use crate::{Api, body};

/// Names and values, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn parse(text: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(text).into_owned().collect())
    }

    /// The first value of this name; an empty field counts as none.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of this name.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(known, _)| known == name);
        values
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The first value of this name, empty if there is none.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

/// The query of the address.
pub(super) struct Asked(pub(super) Fields);

impl FromRequestParts<Api> for Asked {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Trouble> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(Fields::parse(query.as_bytes())))
    }
}

/// The id in the path; one that cannot be an id is shown as an unknown one.
pub(super) struct Named<T>(pub(super) T);

impl<T: Identified> FromRequestParts<Api> for Named<T> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Trouble> {
        let Id(id) = Id::from_request_parts(parts, api).await?;
        Ok(Self(id))
    }
}

/// The ids in the path of a thing and of one that belongs to it.
pub(super) struct NamedPair<T, U>(pub(super) T, pub(super) U);

impl<T: Identified, U: Identified> FromRequestParts<Api> for NamedPair<T, U> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Trouble> {
        let Ids(owner, owned) = Ids::from_request_parts(parts, api).await?;
        Ok(Self(owner, owned))
    }
}

/// The fields of a form.
pub(super) struct Form(pub(super) Fields);

impl FromRequest<Api> for Form {
    type Rejection = Trouble;

    async fn from_request(request: Request, _: &Api) -> Result<Self, Trouble> {
        let (parts, body) = request.into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE);
        let is_form = kind.is_some_and(|kind| {
            kind.as_bytes()
                .starts_with(b"application/x-www-form-urlencoded")
        });
        if !is_form {
            let title = "This is not what our forms send";
            let detail = "The Content-Type must be application/x-www-form-urlencoded.";
            return Err(Trouble::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                title,
                detail,
            ));
        }
        let bytes = body::read_bytes(&parts.headers, body, MAX_DOCUMENT_BYTES).await?;
        Ok(Self(Fields::parse(&bytes)))
    }
}
