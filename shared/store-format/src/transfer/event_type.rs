//! An entry of the event catalogue as a record.

use postrider_domain::event_catalogue::{CatalogueDraft, CatalogueEntry, Lifecycle};
use postrider_domain::ids::TenantId;
use postrider_domain::pattern::EventType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::EVENT_TYPE;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventTypeRecord {
    pub kind: String,
    /// Whose entry it is.
    pub tenant: TenantId,
    pub name: EventType,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Value>,
    #[serde(default)]
    pub lifecycle: Lifecycle,
}

impl EventTypeRecord {
    #[must_use]
    pub fn of(tenant: &TenantId, entry: &CatalogueEntry) -> Self {
        Self {
            kind: EVENT_TYPE.to_owned(),
            tenant: tenant.clone(),
            name: entry.name.clone(),
            description: entry.description.clone(),
            group: entry.group.clone(),
            schema: entry.schema.clone(),
            examples: entry.examples.clone(),
            lifecycle: entry.lifecycle,
        }
    }

    #[must_use]
    pub fn open(self) -> (TenantId, EventType, CatalogueDraft) {
        let draft = CatalogueDraft {
            description: self.description,
            group: self.group,
            schema: self.schema,
            examples: self.examples,
            lifecycle: self.lifecycle,
        };
        (self.tenant, self.name, draft)
    }
}
