//! What the form of an entry holds.

use postrider_domain::event_catalogue::{CatalogueDraft, CatalogueEntry, Lifecycle, MAX_EXAMPLES};
use postrider_domain::invalid::Invalid;
use serde_json::Value;

use super::entry::indented;
use crate::fields::Fields;

#[derive(Clone, Debug, Default)]
pub(super) struct EntryForm {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) group: String,
    pub(super) schema: String,
    pub(super) examples: Vec<String>,
    pub(super) lifecycle: Lifecycle,
}

pub(super) struct Stage {
    pub(super) value: &'static str,
    pub(super) name: &'static str,
    pub(super) is_chosen: bool,
}

const STAGES: [(&str, &str, Lifecycle); 3] = [
    ("current", "In use", Lifecycle::Current),
    (
        "deprecated",
        "Deprecated: still published, receivers should move on",
        Lifecycle::Deprecated,
    ),
    (
        "archived",
        "Archived: no longer published",
        Lifecycle::Archived,
    ),
];

impl EntryForm {
    pub(super) fn of(entry: &CatalogueEntry) -> Self {
        Self {
            name: entry.name.as_str().to_owned(),
            description: entry.description.clone().unwrap_or_default(),
            group: entry.group.clone().unwrap_or_default(),
            schema: entry.schema.as_ref().map(indented).unwrap_or_default(),
            examples: entry.examples.iter().map(indented).collect(),
            lifecycle: entry.lifecycle,
        }
    }

    pub(super) fn from_fields(fields: &Fields) -> Self {
        let stage = fields.get("stage");
        let stage = STAGES.iter().find(|(value, ..)| Some(*value) == stage);
        Self {
            name: fields.text("name"),
            description: fields.text("description").replace("\r\n", "\n"),
            group: fields.text("group"),
            schema: fields.text("schema"),
            examples: fields.all("example").map(str::to_owned).collect(),
            lifecycle: stage.map(|(.., stage)| *stage).unwrap_or_default(),
        }
    }

    pub(super) fn draft(&self) -> Result<CatalogueDraft, Invalid> {
        let mut errors = Invalid::default();
        let mut parsed = |field: &str, text: &str| -> Option<Value> {
            let invalid = |error: serde_json::Error| {
                format!(
                    "must be JSON: line {}, column {}",
                    error.line(),
                    error.column()
                )
            };
            errors.take(field, serde_json::from_str(text).map_err(invalid))
        };
        let given = Some(self.schema.as_str()).filter(|text| !text.is_empty());
        let schema = given.and_then(|text| parsed("schema", text));
        let examples = self.examples.iter().enumerate();
        let examples = examples
            .filter_map(|(n, text)| parsed(&format!("examples[{n}]"), text))
            .collect();
        errors.into_result()?;
        Ok(CatalogueDraft {
            description: Some(self.description.clone()),
            group: Some(self.group.clone()),
            schema,
            examples,
            lifecycle: self.lifecycle,
        })
    }

    /// What was given, and room for one more.
    pub(super) fn example_fields(&self) -> Vec<String> {
        let mut examples = self.examples.clone();
        if examples.len() < MAX_EXAMPLES {
            examples.push(String::new());
        }
        examples
    }

    pub(super) fn stages(&self) -> Vec<Stage> {
        let stages = STAGES.iter().map(|(value, name, stage)| Stage {
            value,
            name,
            is_chosen: *stage == self.lifecycle,
        });
        stages.collect()
    }
}
