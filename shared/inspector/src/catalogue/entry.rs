//! One entry of the catalogue, ready to be shown.

use postrider_domain::event_catalogue::{CatalogueListing, EntryOwner};
use postrider_domain::json_schema::{PayloadFault, Schema, SchemaField, outline};
use serde_json::Value;

use super::list::state;
use crate::text::{self, Markup, Pill};

pub(super) struct EntryView {
    pub(super) name: String,
    pub(super) path: String,
    /// The name in a query.
    pub(super) query_name: String,
    /// Paragraphs.
    pub(super) description: Vec<String>,
    pub(super) group: Option<String>,
    pub(super) state: Option<Pill>,
    pub(super) is_shared: bool,
    pub(super) fields: Vec<SchemaField>,
    pub(super) schema: Option<String>,
    /// Why payloads cannot be checked against the schema, which an earlier version stored.
    pub(super) unusable: Option<String>,
    pub(super) examples: Vec<Example>,
    pub(super) updated_at: Markup,
}

pub(super) struct Example {
    pub(super) text: String,
    /// What does not match the schema.
    pub(super) faults: Vec<PayloadFault>,
}

impl EntryView {
    pub(super) fn of(home: &str, listed: CatalogueListing) -> Self {
        let compiled = listed.entry.compiled();
        let entry = listed.entry;
        let (schema, unusable) = match compiled {
            Some(Ok(schema)) => (Some(schema), None),
            Some(Err(invalid)) => (None, Some(invalid.to_string())),
            None => (None, None),
        };
        let description = entry.description.unwrap_or_default();
        let paragraphs = description.split("\n\n").map(str::trim);
        Self {
            path: format!("{home}{}", super::path(&entry.name)),
            query_name: url::form_urlencoded::byte_serialize(entry.name.as_str().as_bytes())
                .collect(),
            name: entry.name.as_str().to_owned(),
            description: paragraphs
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
                .collect(),
            group: entry.group,
            state: state(entry.lifecycle),
            is_shared: listed.owner == EntryOwner::Operator,
            fields: entry.schema.as_ref().map(outline).unwrap_or_default(),
            schema: entry.schema.as_ref().map(indented),
            unusable,
            examples: entry
                .examples
                .iter()
                .map(|example| Example::of(example, schema.as_ref()))
                .collect(),
            updated_at: text::when(entry.updated_at),
        }
    }
}

impl Example {
    fn of(value: &Value, schema: Option<&Schema>) -> Self {
        Self {
            text: indented(value),
            faults: schema
                .map(|schema| schema.faults_of(value))
                .unwrap_or_default(),
        }
    }
}

pub(super) fn indented(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
