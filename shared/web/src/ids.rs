//! Ids in paths.

use std::str::FromStr;

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use postrider_domain::event::Label;
use postrider_domain::ids::{
    DeliveryId, ErasureId, EventId, JobId, KeyId, RejectedId, SourceId, TenantId, WebhookId,
};
use postrider_domain::pattern::EventType;

use crate::problem::Problem;

/// An object that a path names by its id.
pub trait Identified: FromStr + Send {
    /// Its name in problem details.
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

impl Identified for ErasureId {
    const WHAT: &'static str = "erasure";
}

impl Identified for Label {
    const WHAT: &'static str = "session";
}

impl Identified for EventType {
    const WHAT: &'static str = "event type";
}

impl Identified for KeyId {
    const WHAT: &'static str = "key";
}

impl Identified for TenantId {
    const WHAT: &'static str = "tenant";
}

/// The id in the path. Ids are opaque: a malformed one is not found.
pub struct Id<T>(pub T);

impl<T: Identified, S: Send + Sync> FromRequestParts<S> for Id<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Path::<String>::from_request_parts(parts, state)
            .await
            .ok()
            .and_then(|Path(text)| text.parse().ok())
            .map(Self)
            .ok_or_else(|| Problem::not_found(T::WHAT))
    }
}

/// The two ids in a path: an owner's, and that of an object that belongs to it. The object is not found if either id is
/// malformed.
pub struct Ids<T, U>(pub T, pub U);

impl<T: Identified, U: Identified, S: Send + Sync> FromRequestParts<S> for Ids<T, U> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<(String, String)>::from_request_parts(parts, state).await;
        let ids = path.ok().and_then(|Path((owner, owned))| {
            let (owner, owned) = (owner.parse().ok()?, owned.parse().ok()?);
            Some(Self(owner, owned))
        });
        ids.ok_or_else(|| Problem::not_found(U::WHAT))
    }
}
