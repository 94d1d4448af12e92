//! Sources: who may send events in, and where those go.

use postrider_domain::invalid::Invalid;
use postrider_domain::route::{Route, RouteDraft};
use postrider_domain::scheme::{CUSTOM, CustomDraft};
use postrider_domain::secret::UncheckedSecret;
use postrider_domain::source::{Source, SourceDraft};
use postrider_domain::time::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::json::{Object, Whole, present, present_strict, strict};
use crate::patch::{self, set};
use crate::schema;
use crate::time::ApiTime;
use crate::unique_json::UniqueJson;

/// The settings of a new source.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSource {
    /// 1 to 100 characters; space around it is cut off.
    #[schema(value_type = schema::Name)]
    pub name: String,
    /// How the sender signs.
    #[schema(value_type = schema::SchemeName)]
    pub scheme: String,
    /// The secret that the sender signs with, at most 1024 bytes; never shown again.
    #[schema(value_type = schema::SharedSecret)]
    pub secret: String,
    /// How the sender signs, for the scheme `custom`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Object<CustomFields>>>"
    )]
    pub custom: Option<CustomFields>,
    /// The URL that the sender calls, without query; required for schemes that sign it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::PublicUrl>)]
    pub public_url: Option<String>,
    /// The token that Meta sends to verify the address, at most 1024 bytes; the secret by default. For the scheme `meta`;
    /// never shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SharedSecret>)]
    pub verify_token: Option<String>,
    /// At most 100. Per webhook, the first that matches applies.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Vec<Object<NewRoute>>>>"
    )]
    #[schema(value_type = Option<schema::Routes>)]
    pub routes: Option<Vec<NewRoute>>,
}

impl NewSource {
    /// The draft, and the secret.
    #[must_use]
    pub fn into_draft(self) -> (SourceDraft, String) {
        let draft = SourceDraft {
            name: self.name,
            scheme: self.scheme,
            custom: self.custom.map(Into::into),
            public_url: self.public_url,
            verify_token: self.verify_token.map(UncheckedSecret::from),
            routes: drafts(self.routes.unwrap_or_default()),
        };
        (draft, self.secret)
    }
}

/// Where events of some types go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRoute {
    /// A pattern. `*` matches one segment, or all remaining segments if it is the last one.
    #[schema(value_type = schema::EventPattern, example = "pull_request.*")]
    pub event_type: String,
    /// An event pattern, as in Amazon EventBridge, over the payload. The route is only for events that it matches.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<UniqueJson>>"
    )]
    #[schema(value_type = Option<schema::PayloadFilter>, example = json!({"action": ["opened"]}))]
    pub filter: Option<Value>,
    /// What the receiver should do with it; sent as `X-Webhook-Intent`.
    #[schema(value_type = schema::Label, example = "code_review")]
    pub intent: String,
    /// The session of its deliveries; sent as `X-Webhook-Session`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Label>)]
    pub target_session: Option<String>,
    /// The webhook it goes to, whatever that subscribes to.
    #[schema(value_type = schema::WebhookId)]
    pub webhook_id: String,
}

fn drafts(given: Vec<NewRoute>) -> Vec<RouteDraft> {
    let draft = |route: NewRoute| RouteDraft {
        event_type: route.event_type,
        filter: route.filter,
        intent: route.intent,
        target_session: route.target_session,
        webhook_id: route.webhook_id,
    };
    given.into_iter().map(draft).collect()
}

/// The routes of a source.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRoutes {
    /// At most 100. Per webhook, the first that matches applies.
    #[serde(deserialize_with = "strict::<_, Vec<Object<NewRoute>>>")]
    #[schema(value_type = schema::Routes)]
    pub routes: Vec<NewRoute>,
}

impl NewRoutes {
    /// The draft with these routes.
    #[must_use]
    pub fn apply_to(self, draft: SourceDraft) -> SourceDraft {
        SourceDraft {
            routes: drafts(self.routes),
            ..draft
        }
    }
}

/// The changes to a source.
// The outer option tells absent from `null`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SourcePatch {
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = schema::Name, required = false)]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<schema::PublicUrl>)]
    pub public_url: Option<Option<String>>,
    /// Replaces the whole description.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Object<CustomFields>>"
    )]
    #[schema(value_type = CustomFields, required = false)]
    pub custom: Option<CustomFields>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<schema::SharedSecret>)]
    pub verify_token: Option<Option<String>>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present_strict::<_, Vec<Object<NewRoute>>>"
    )]
    #[schema(value_type = schema::Routes, required = false)]
    pub routes: Option<Vec<NewRoute>>,
    /// Read only to be rejected with an advice.
    #[serde(skip_serializing, deserialize_with = "present")]
    #[schema(ignore)]
    pub scheme: Option<IgnoredAny>,
    /// As `scheme`.
    #[serde(skip_serializing, deserialize_with = "present")]
    #[schema(ignore)]
    pub secret: Option<IgnoredAny>,
}

impl SourcePatch {
    /// A secret is rotated, not changed: the old one stays valid for a while. It does not fit another scheme.
    ///
    /// # Errors
    /// When there is a scheme or a secret.
    pub fn reject_fixed(&self) -> Result<(), Invalid> {
        let mut faults = Invalid::default();
        faults.require(self.scheme.is_none(), "scheme", || {
            "cannot be changed; create another source".to_owned()
        });
        patch::reject_secret(self.secret, "/v1/sources", &mut faults);
        faults.into_result()
    }

    /// The draft with the changes.
    #[must_use]
    pub fn apply_to(self, mut draft: SourceDraft) -> SourceDraft {
        let verify_token = self.verify_token.map(|given| given.map(Into::into));
        set(&mut draft.name, self.name);
        set(&mut draft.public_url, self.public_url);
        set(
            &mut draft.custom,
            self.custom.map(|given| Some(given.into())),
        );
        set(&mut draft.verify_token, verify_token);
        set(&mut draft.routes, self.routes.map(drafts));
        draft
    }
}

/// The secret to use from now on.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceRotation {
    /// The secret that the sender signs with from now on, at most 1024 bytes; never shown.
    #[schema(value_type = schema::SharedSecret)]
    pub secret: String,
}

/// How a sender signs, for the scheme `custom`. Places are `header:<name>`, `body:<JSON pointer>` or `form:<field>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CustomScheme)]
pub struct CustomFields {
    /// The header that holds the signatures.
    #[schema(value_type = schema::HeaderName, example = "x-acme-signature")]
    pub header: String,
    /// The text before each signature, such as `sha256=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SignaturePrefix>)]
    pub prefix: Option<String>,
    /// What separates several signatures; `,` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SignatureSeparator>)]
    pub separator: Option<String>,
    /// `hex` by default; `text` is for the digest `token`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SignatureEncoding>)]
    pub encoding: Option<String>,
    /// `hmac-sha256` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SignatureDigest>)]
    pub digest: Option<String>,
    /// The form of the secret; `text` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SecretForm>)]
    pub key: Option<String>,
    /// What is signed; `{body}` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SignedTemplate>, example = "{timestamp}.{body}")]
    pub signed: Option<String>,
    /// The place of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ValuePlace>)]
    pub timestamp: Option<String>,
    /// The text before the time in a header that is a list, such as `t=`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::SignaturePrefix>)]
    pub timestamp_prefix: Option<String>,
    /// `seconds` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TimeFormat>)]
    pub timestamp_format: Option<String>,
    /// How far the time may be from the gateway's, in seconds; 300 by default.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<Whole>>"
    )]
    #[schema(value_type = Option<schema::WindowSeconds>)]
    pub window_seconds: Option<u32>,
    /// The place of the id that is signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ValuePlace>)]
    pub id: Option<String>,
    /// The places of the event's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ValuePlaces>)]
    pub event_type: Option<Vec<String>>,
    /// The places of the sender's id of a delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::ValuePlaces>)]
    pub delivery_id: Option<Vec<String>>,
}

impl From<CustomFields> for CustomDraft {
    fn from(given: CustomFields) -> Self {
        Self {
            header: given.header,
            prefix: given.prefix,
            separator: given.separator,
            encoding: given.encoding,
            digest: given.digest,
            key: given.key,
            signed: given.signed,
            timestamp: given.timestamp,
            timestamp_prefix: given.timestamp_prefix,
            timestamp_format: given.timestamp_format,
            window_seconds: given.window_seconds,
            id: given.id,
            event_type: given.event_type.unwrap_or_default(),
            delivery_id: given.delivery_id.unwrap_or_default(),
        }
    }
}

/// An inbound sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Source)]
pub struct SourceView {
    #[schema(value_type = schema::SourceId)]
    pub id: String,
    pub name: String,
    #[schema(value_type = schema::SchemeName)]
    pub scheme: String,
    /// The path that the sender posts to.
    #[schema(example = "/gateway/webhooks/src_abgkzo5adn36vn6vlk3u2gdxky")]
    pub url: String,
    /// How the sender signs, if the scheme is `custom`.
    #[schema(required, value_type = Option<CustomFields>)]
    pub custom: Option<CustomDraft>,
    /// The URL that the sender calls, if its scheme signs that.
    #[schema(required)]
    pub public_url: Option<String>,
    /// Whether it has a token of its own for Meta's verification; otherwise the secret is used.
    #[serde(default)]
    #[schema(required)]
    pub has_verify_token: bool,
    #[serde(default)]
    #[schema(required)]
    pub routes: Vec<RouteView>,
    /// When each retired secret that is still valid expires, the latest first.
    #[serde(default)]
    #[schema(required)]
    pub secret_expires: Vec<ApiTime>,
    pub created_at: ApiTime,
    pub updated_at: ApiTime,
}

impl SourceView {
    /// The source at this instant.
    #[must_use]
    pub fn of(source: &Source, now: Timestamp) -> Self {
        let settings = &source.settings;
        let retired = source.secrets.replaced(now);
        Self {
            id: source.id.to_string(),
            name: settings.name.clone(),
            scheme: settings.scheme.name.to_owned(),
            url: Source::path(source.id),
            custom: (settings.scheme.name == CUSTOM).then(|| CustomDraft::from(&*settings.scheme)),
            public_url: settings.public_url.as_ref().map(ToString::to_string),
            has_verify_token: settings.verify_token.is_some(),
            routes: settings.routes.iter().map(RouteView::from).collect(),
            secret_expires: retired.map(|old| ApiTime(old.expires_at)).collect(),
            created_at: ApiTime(source.created_at),
            updated_at: ApiTime(source.updated_at),
        }
    }
}

/// Where events of some types go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Route)]
pub struct RouteView {
    pub event_type: String,
    /// The event pattern that payloads must match.
    #[serde(default)]
    #[schema(required, value_type = Option<schema::PayloadFilter>)]
    pub filter: Option<Value>,
    pub intent: String,
    #[schema(required)]
    pub target_session: Option<String>,
    #[schema(value_type = schema::WebhookId)]
    pub webhook_id: String,
}

impl From<&Route> for RouteView {
    fn from(route: &Route) -> Self {
        Self {
            event_type: route.event_type.to_string(),
            filter: route.filter.clone().map(Value::from),
            intent: route.intent.as_str().to_owned(),
            target_session: route.target_session.clone().map(String::from),
            webhook_id: route.webhook_id.to_string(),
        }
    }
}

impl From<RouteView> for NewRoute {
    fn from(route: RouteView) -> Self {
        Self {
            event_type: route.event_type,
            filter: route.filter,
            intent: route.intent,
            target_session: route.target_session,
            webhook_id: route.webhook_id,
        }
    }
}

/// All sources, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SourceList {
    pub items: Vec<SourceView>,
    /// Always `null`: this list is not paginated.
    #[schema(required)]
    pub next_cursor: Option<String>,
}

/// The routes of a source, in order.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RouteList {
    pub routes: Vec<RouteView>,
}

impl From<&Source> for RouteList {
    fn from(source: &Source) -> Self {
        Self {
            routes: source.settings.routes.iter().map(RouteView::from).collect(),
        }
    }
}

/// A secret that was rotated.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = RotatedSourceSecret)]
pub struct RotatedSourceSecretView {
    /// Until when the previous secret is valid.
    pub previous_expires_at: ApiTime,
}
