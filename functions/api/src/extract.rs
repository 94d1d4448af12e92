//! Extractors that respond with problems: JSON documents and query strings.

use std::borrow::Cow;

use axum::extract::{FromRequest, FromRequestParts, Request};
use http::request::Parts;
use postrider_api_types::parameters::Parameters;
use postrider_domain::invalid::Invalid;
use postrider_web::body::MAX_DOCUMENT_BYTES;
pub(crate) use postrider_web::ids::{Id, Ids};
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use crate::{Api, body, json};

/// A JSON document.
pub(crate) struct Document<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Api> for Document<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Api) -> Result<Self, Problem> {
        let bytes = body::read_json(request, MAX_DOCUMENT_BYTES).await?;
        Ok(Self(json::parse(&bytes)?))
    }
}

/// A JSON document that may be left out.
pub(crate) struct Optional<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<Api> for Optional<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Api) -> Result<Self, Problem> {
        let bytes = body::read_json(request, MAX_DOCUMENT_BYTES).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        Ok(Self(json::parse(&bytes)?))
    }
}

/// A query string of known parameters, each given at most once.
pub(crate) struct Query<T>(pub(crate) T);

impl<T: Parameters> FromRequestParts<Api> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Problem> {
        let text = parts.uri.query().unwrap_or_default();
        Ok(Self(parameters(text)?))
    }
}

fn parameters<T: Parameters>(text: &str) -> Result<T, Invalid> {
    let mut found = T::default();
    for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
        let Some(place) = found.place(&name) else {
            return Err(Invalid::field(name, unknown(&T::names())));
        };
        if place.replace(value.into_owned()).is_some() {
            return Err(Invalid::field(name, "is given twice"));
        }
    }
    Ok(found)
}

fn unknown(names: &[&str]) -> Cow<'static, str> {
    if names.is_empty() {
        "is not known; this path has no parameters".into()
    } else {
        format!("is not known; expected one of {}", names.join(", ")).into()
    }
}

/// The parameter `limit` of a list.
pub(crate) fn limit(
    given: Option<&str>,
    default: usize,
    max: usize,
    faults: &mut Invalid,
) -> usize {
    match given.map(str::parse) {
        None => default,
        Some(Ok(limit)) if (1..=max).contains(&limit) => limit,
        Some(_) => {
            faults.add("limit", format!("must be a whole number from 1 to {max}"));
            default
        }
    }
}
