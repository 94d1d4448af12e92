//! What an owner writes about a source.

use postrider_domain::invalid::Invalid;
use postrider_domain::route::RouteDraft;
use postrider_domain::secret::UncheckedSecret;
use postrider_domain::source::SourceDraft;
use serde::Deserialize;
use serde::de::IgnoredAny;
use utoipa::ToSchema;

use crate::json::{Object, present};
use crate::sources::custom::CustomInput;
use crate::sources::view::schemes;

/// What a new source shall be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSource {
    /// 1 to 100 characters.
    name: String,
    /// How the sender signs.
    #[schema(schema_with = schemes)]
    scheme: String,
    /// What the sender signs with, 1 to 1024 bytes; never shown again.
    secret: String,
    /// How the sender signs, for the scheme `custom`.
    #[serde(default)]
    #[schema(value_type = Option<CustomInput>)]
    custom: Option<Object<CustomInput>>,
    /// The URL that the sender calls, without query, for schemes that sign it.
    #[serde(default)]
    public_url: Option<String>,
    /// What Meta says when it asks whether the address is its owner's, 1 to 1024 bytes; the secret, unless set. For the
    /// scheme `meta`; never shown.
    #[serde(default)]
    verify_token: Option<String>,
    /// At most 100; the first that matches counts for a webhook.
    #[serde(default)]
    #[schema(value_type = Option<Vec<RouteInput>>)]
    routes: Option<Vec<Object<RouteInput>>>,
}

impl NewSource {
    /// The draft, and the secret.
    pub(crate) fn into_draft(self) -> (SourceDraft, String) {
        let draft = SourceDraft {
            name: self.name,
            scheme: self.scheme,
            custom: self.custom.map(|Object(custom)| custom.into()),
            public_url: self.public_url,
            verify_token: self.verify_token.map(UncheckedSecret::from),
            routes: drafts(self.routes.unwrap_or_default()),
        };
        (draft, self.secret)
    }
}

/// Where events of some types go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewRoute)]
pub(crate) struct RouteInput {
    /// A pattern; `*` stands for one segment, as the last for all that follow.
    #[schema(example = "pull_request.*")]
    event_type: String,
    /// What the receiver shall do with it, 1 to 128 printable characters; sent as `X-Webhook-Intent`.
    #[schema(example = "code_review")]
    intent: String,
    /// The session of its deliveries, 1 to 128 printable characters; sent as `X-Webhook-Session`.
    #[serde(default)]
    target_session: Option<String>,
    /// Where it goes, whatever that webhook subscribes to.
    webhook_id: String,
}

fn drafts(given: Vec<Object<RouteInput>>) -> Vec<RouteDraft> {
    let draft = |Object(route): Object<RouteInput>| RouteDraft {
        event_type: route.event_type,
        intent: route.intent,
        target_session: route.target_session,
        webhook_id: route.webhook_id,
    };
    given.into_iter().map(draft).collect()
}

/// The routes that a source shall have.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewRoutes {
    /// At most 100; the first that matches counts for a webhook.
    #[schema(value_type = Vec<RouteInput>)]
    routes: Vec<Object<RouteInput>>,
}

impl NewRoutes {
    /// The draft with these routes.
    pub(crate) fn apply_to(self, draft: SourceDraft) -> SourceDraft {
        SourceDraft {
            routes: drafts(self.routes),
            ..draft
        }
    }
}

/// What shall change about a source.
// The outer option tells absent from `null`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourcePatch {
    #[serde(default, deserialize_with = "present")]
    #[schema(nullable = false)]
    name: Option<String>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    public_url: Option<Option<String>>,
    /// Replaces the whole description.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<CustomInput>, nullable = false)]
    custom: Option<Object<CustomInput>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    verify_token: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<RouteInput>>, nullable = false)]
    routes: Option<Vec<Object<RouteInput>>>,
    /// Known only to be refused with a word on what to do instead.
    #[serde(default, deserialize_with = "present")]
    #[schema(ignore)]
    scheme: Option<IgnoredAny>,
    /// As `scheme`.
    #[serde(default, deserialize_with = "present")]
    #[schema(ignore)]
    secret: Option<IgnoredAny>,
}

impl SourcePatch {
    /// A secret is not changed but rotated, so that the old one stays valid for a while; and it fits no other scheme.
    pub(crate) fn refuse_fixed(&self) -> Result<(), Invalid> {
        let mut faults = Invalid::default();
        faults.require(self.scheme.is_none(), "scheme", || {
            "cannot be changed; make another source".to_owned()
        });
        faults.require(self.secret.is_none(), "secret", || {
            "cannot be changed here; POST to /v1/sources/{id}/rotate-secret instead".to_owned()
        });
        faults.into_result()
    }

    /// The draft with the changes.
    pub(crate) fn apply_to(self, draft: SourceDraft) -> SourceDraft {
        SourceDraft {
            name: self.name.unwrap_or(draft.name),
            public_url: self.public_url.unwrap_or(draft.public_url),
            custom: match self.custom {
                Some(Object(custom)) => Some(custom.into()),
                None => draft.custom,
            },
            verify_token: match self.verify_token {
                Some(token) => token.map(UncheckedSecret::from),
                None => draft.verify_token,
            },
            routes: self.routes.map_or(draft.routes, drafts),
            ..draft
        }
    }
}

/// A secret to bring along.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceRotation {
    /// What the sender signs with from now on, 1 to 1024 bytes; never shown.
    pub(crate) secret: String,
}
