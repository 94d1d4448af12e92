//! The catalogue of event types: what each means, what its payload looks like, and whether it is still in use.

mod openapi;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::invalid::Invalid;
use crate::json_schema::Schema;
use crate::pattern::EventType;
use crate::time::Timestamp;

pub use openapi::{ImportError, import};

/// The maximum per tenant.
pub const MAX_EVENT_TYPES: usize = 500;
pub const MAX_DESCRIPTION_CHARS: usize = 2000;
pub const MAX_GROUP_CHARS: usize = 100;
pub const MAX_EXAMPLES: usize = 5;
/// The largest example, as JSON without spaces.
pub const MAX_EXAMPLE_BYTES: usize = 16 * 1024;
/// One event type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueEntry {
    pub name: EventType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// A JSON Schema of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    #[serde(default)]
    pub lifecycle: Lifecycle,
    pub updated_at: Timestamp,
}

impl CatalogueEntry {
    /// Whether both are the same, whenever they were stored.
    #[must_use]
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let updated_at = self.updated_at;
        *self
            == Self {
                updated_at,
                ..other.clone()
            }
    }

    /// The schema, if there is one.
    ///
    /// # Errors
    /// An earlier version stored it, and this one cannot use it.
    #[must_use]
    pub fn compiled(&self) -> Option<Result<Schema, Invalid>> {
        let schema = self.schema.as_ref()?;
        Some(Schema::compile("schema", schema))
    }
}

/// Whether an event type is still in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lifecycle {
    #[default]
    Current,
    /// Still published, but receivers should move on.
    Deprecated,
    /// No longer published; kept for those who look it up.
    Archived,
}

/// An entry as submitted, not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueDraft {
    pub description: Option<String>,
    pub group: Option<String>,
    pub schema: Option<Value>,
    pub examples: Vec<Value>,
    pub lifecycle: Lifecycle,
}

impl CatalogueDraft {
    /// # Errors
    /// All errors at once.
    pub fn check(self, name: EventType, now: Timestamp) -> Result<CatalogueEntry, Invalid> {
        let mut errors = Invalid::default();
        let fits = |text: &Option<String>, max| {
            let count = text.as_deref().map_or(0, |text| text.chars().count());
            count <= max
        };
        errors.require(
            fits(&self.description, MAX_DESCRIPTION_CHARS),
            "description",
            || format!("must be at most {MAX_DESCRIPTION_CHARS} characters"),
        );
        let group = self.group.map(|group| group.trim().to_owned());
        let is_plain = |text: &String| !text.chars().any(char::is_control);
        errors.require(
            fits(&group, MAX_GROUP_CHARS) && group.as_ref().is_none_or(is_plain),
            "group",
            || format!("must be at most {MAX_GROUP_CHARS} characters, without control characters"),
        );
        let compiled = self.schema.as_ref().map(|it| Schema::compile("schema", it));
        if let Some(Err(invalid)) = compiled {
            errors.extend(invalid);
        }
        errors.require(self.examples.len() <= MAX_EXAMPLES, "examples", || {
            format!("must be at most {MAX_EXAMPLES} examples")
        });
        for (n, example) in self.examples.iter().take(MAX_EXAMPLES).enumerate() {
            let is_small = example.to_string().len() <= MAX_EXAMPLE_BYTES;
            errors.require(is_small, &format!("examples[{n}]"), || {
                format!("must be at most {MAX_EXAMPLE_BYTES} bytes")
            });
        }
        errors.into_result()?;
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(CatalogueEntry {
            name,
            description: given(self.description),
            group: given(group),
            schema: self.schema,
            examples: self.examples,
            lifecycle: self.lifecycle,
            updated_at: now,
        })
    }
}

/// An entry, and who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueListing {
    pub entry: CatalogueEntry,
    pub owner: EntryOwner,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryOwner {
    Tenant,
    /// The operator, for all tenants.
    Operator,
}

/// The catalogue of a tenant: its own entries, and those of the operator for other types; by name.
#[must_use]
pub fn merged(own: Vec<CatalogueEntry>, shared: Vec<CatalogueEntry>) -> Vec<CatalogueListing> {
    let listed = |owner| move |entry| CatalogueListing { entry, owner };
    let mut all: Vec<CatalogueListing> = own.into_iter().map(listed(EntryOwner::Tenant)).collect();
    all.extend(shared.into_iter().map(listed(EntryOwner::Operator)));
    // Stable: the tenant's own comes before the operator's of the same name.
    all.sort_by(|a, b| a.entry.name.as_str().cmp(b.entry.name.as_str()));
    all.dedup_by(|later, first| later.entry.name == first.entry.name);
    all
}

#[cfg(test)]
mod tests;
