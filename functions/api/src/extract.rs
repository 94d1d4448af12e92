//! Extractors that respond with problems: JSON documents, ids in paths, query strings.

use std::borrow::Cow;
use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::request::Parts;
use postrider_api_types::parameters::Parameters;
use postrider_domain::ids::{DeliveryId, EventId, JobId, KeyId, RejectedId, SourceId, WebhookId};
use postrider_domain::invalid::Invalid;
use serde::de::DeserializeOwned;

use crate::problem::Problem;
use crate::{Api, body, json};

/// The largest document; events have limits of their own.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 64 * 1024;

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

/// Something that a path names by its id.
pub(crate) trait Identified: FromStr + Send {
    /// What a problem calls it.
    const WHAT: &'static str;
}

impl Identified for WebhookId {
    const WHAT: &'static str = "webhook";
}

impl Identified for SourceId {
    const WHAT: &'static str = "source";
}

impl Identified for RejectedId {
    const WHAT: &'static str = "rejected request";
}

impl Identified for DeliveryId {
    const WHAT: &'static str = "delivery";
}

impl Identified for EventId {
    const WHAT: &'static str = "event";
}

impl Identified for JobId {
    const WHAT: &'static str = "retry";
}

impl Identified for KeyId {
    const WHAT: &'static str = "key";
}

/// The id in the path. Ids are opaque: a malformed one is not found.
pub(crate) struct Id<T>(pub(crate) T);

impl<T: Identified> FromRequestParts<Api> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        Path::<String>::from_request_parts(parts, api)
            .await
            .ok()
            .and_then(|Path(text)| text.parse().ok())
            .map(Self)
            .ok_or_else(|| Problem::not_found(T::WHAT))
    }
}

/// The two ids in a path: of an owner, and of what belongs to it, which is not found if either is malformed.
pub(crate) struct Ids<T, U>(pub(crate) T, pub(crate) U);

impl<T: Identified, U: Identified> FromRequestParts<Api> for Ids<T, U> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, api).await;
        let ids = path.ok().and_then(|Path((owner, owned))| {
            let (owner, owned) = (owner.parse().ok()?, owned.parse().ok()?);
            Some(Self(owner, owned))
        });
        ids.ok_or_else(|| Problem::not_found(U::WHAT))
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
