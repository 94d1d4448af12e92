//! Templates of webhooks: fields, test and presets.

use postrider_domain::template::{Preset, Rendered, Template, TemplateDraft};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::json::{Object, present, strict};
use crate::schema;

/// What a webhook sends instead of the event's own bytes. The language is Jinja; `payload`, `event` and `webhook` are its
/// variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Template)]
pub struct TemplateFields {
    /// At most 16 KiB. Under a JSON content type, values are written as JSON, and the result must be valid JSON.
    #[schema(value_type = schema::TemplateBody, example = "{\"text\": \"{{ event.type }}: {{ payload.title }}\"}")]
    pub body: String,
    /// `application/json` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Label>)]
    pub content_type: Option<String>,
    /// Added to the query of the webhook's URL. Values are percent-encoded. At most 2 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::TemplateQuery>)]
    pub query: Option<String>,
}

impl From<TemplateFields> for TemplateDraft {
    fn from(fields: TemplateFields) -> Self {
        Self {
            body: fields.body,
            content_type: fields.content_type,
            query: fields.query,
        }
    }
}

impl From<TemplateDraft> for TemplateFields {
    fn from(draft: TemplateDraft) -> Self {
        Self {
            body: draft.body,
            content_type: draft.content_type,
            query: draft.query,
        }
    }
}

impl From<Template> for TemplateFields {
    fn from(template: Template) -> Self {
        TemplateDraft::from(template).into()
    }
}

/// A template and an event to try it on: a payload, or the id of a stored event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TemplateTest {
    #[serde(deserialize_with = "strict::<_, Object<TemplateFields>>")]
    pub template: TemplateFields,
    /// Any JSON.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    #[schema(value_type = schema::AnyJson, required = false, example = json!({"title": "New order"}))]
    pub payload: Option<Value>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    #[schema(value_type = schema::EventId, required = false)]
    pub event_id: Option<String>,
}

/// What the template makes of the event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = RenderedTemplate)]
pub struct RenderedView {
    pub body: String,
    pub content_type: String,
    /// What is added to the query of the webhook's URL.
    #[schema(required)]
    pub query: Option<String>,
}

impl From<Rendered> for RenderedView {
    fn from(rendered: Rendered) -> Self {
        Self {
            body: String::from_utf8_lossy(&rendered.body).into_owned(),
            content_type: rendered.content_type.into(),
            query: rendered.query,
        }
    }
}

/// A template to copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TemplatePreset)]
pub struct PresetView {
    pub name: String,
    /// The product whose format it writes.
    pub title: String,
    pub template: TemplateFields,
}

impl From<Preset> for PresetView {
    fn from(preset: Preset) -> Self {
        Self {
            name: preset.as_str().to_owned(),
            title: preset.title().to_owned(),
            template: preset.draft().into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TemplatePresetList)]
pub struct PresetListView {
    pub items: Vec<PresetView>,
}

impl PresetListView {
    #[must_use]
    pub fn all() -> Self {
        Self {
            items: Preset::ALL.map(PresetView::from).into(),
        }
    }
}
