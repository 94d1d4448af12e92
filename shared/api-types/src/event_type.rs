//! The catalogue of event types.

use postrider_domain::event_catalogue::{
    CatalogueDraft, CatalogueEntry, CatalogueListing, EntryOwner, Lifecycle,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::json::strict;
use crate::schema;
use crate::time::ApiTime;
use crate::unique_json::UniqueJson;

/// What an event type means. Fields that are left out are empty; the whole entry is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewEventType {
    /// At most 2,000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EventTypeDescription>)]
    pub description: Option<String>,
    /// Lists show event types of the same group together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EventTypeGroup>)]
    pub group: Option<String>,
    /// A JSON Schema (2020-12) of the payload, which refers only to itself. At most 32 KiB and 50 levels.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "strict::<_, Option<UniqueJson>>"
    )]
    #[schema(value_type = Option<schema::JsonSchema>, example = json!({"type": "object", "required": ["id"]}))]
    pub schema: Option<Value>,
    /// Payloads, each at most 16 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::EventTypeExamples>)]
    pub examples: Option<Vec<Value>>,
    /// Whether receivers should move on, although it is still published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<bool>,
    /// Whether it is no longer published. An archived event type is also deprecated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

impl From<NewEventType> for CatalogueDraft {
    fn from(given: NewEventType) -> Self {
        let lifecycle = match (given.archived, given.deprecated) {
            (Some(true), _) => Lifecycle::Archived,
            (_, Some(true)) => Lifecycle::Deprecated,
            (None | Some(false), None | Some(false)) => Lifecycle::Current,
        };
        Self {
            description: given.description,
            group: given.group,
            schema: given.schema,
            examples: given.examples.unwrap_or_default(),
            lifecycle,
        }
    }
}

impl From<CatalogueDraft> for NewEventType {
    fn from(draft: CatalogueDraft) -> Self {
        let is = |stage| (draft.lifecycle == stage).then_some(true);
        Self {
            deprecated: is(Lifecycle::Deprecated),
            archived: is(Lifecycle::Archived),
            description: draft.description,
            group: draft.group,
            schema: draft.schema,
            examples: (!draft.examples.is_empty()).then_some(draft.examples),
        }
    }
}

/// An event type of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = EventTypeEntry)]
pub struct EventTypeView {
    pub name: String,
    #[schema(required)]
    pub description: Option<String>,
    #[schema(required)]
    pub group: Option<String>,
    #[serde(default)]
    #[schema(required, value_type = Option<schema::JsonSchema>)]
    pub schema: Option<Value>,
    #[schema(value_type = Vec<schema::AnyJson>)]
    pub examples: Vec<Value>,
    pub deprecated: bool,
    pub archived: bool,
    /// Whether it is an entry of the operator that applies to every tenant.
    pub shared: bool,
    pub updated_at: ApiTime,
}

impl From<CatalogueListing> for EventTypeView {
    fn from(listed: CatalogueListing) -> Self {
        Self::of(listed.entry, listed.owner)
    }
}

impl EventTypeView {
    #[must_use]
    pub fn of(entry: CatalogueEntry, owner: EntryOwner) -> Self {
        Self {
            name: entry.name.as_str().to_owned(),
            description: entry.description,
            group: entry.group,
            schema: entry.schema,
            examples: entry.examples,
            deprecated: entry.lifecycle != Lifecycle::Current,
            archived: entry.lifecycle == Lifecycle::Archived,
            shared: owner == EntryOwner::Operator,
            updated_at: ApiTime(entry.updated_at),
        }
    }
}

/// The catalogue, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = EventTypeList)]
pub struct EventTypeListView {
    pub items: Vec<EventTypeView>,
    /// Always `null`: this list is not paginated.
    #[schema(required)]
    pub next_cursor: Option<String>,
}
