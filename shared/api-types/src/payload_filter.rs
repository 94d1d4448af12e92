//! Testing a filter.

use postrider_domain::payload_filter::{Payload, PayloadFilter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::json::strict;
use crate::schema;
use crate::unique_json::UniqueJson;

/// A filter and a payload to try it on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterTest {
    /// An event pattern, as in Amazon EventBridge.
    #[serde(deserialize_with = "strict::<_, UniqueJson>")]
    #[schema(value_type = schema::PayloadFilter, example = json!({"total": [{"numeric": [">", 100]}]}))]
    pub filter: Value,
    /// Any JSON.
    #[schema(value_type = schema::AnyJson, example = json!({"total": 250}))]
    pub payload: Value,
}

/// Whether the filter matches the payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FilterResult)]
pub struct FilterTestView {
    pub matches: bool,
    /// What keeps the filter from matching: JSON pointers into it. A pointer to an object, or an empty one to the whole filter,
    /// means that its conditions hold, but not all of them for the same element of an array.
    pub failed: Vec<String>,
}

impl FilterTestView {
    #[must_use]
    pub fn of(filter: &PayloadFilter, payload: &Payload) -> Self {
        let failed = filter.failed(payload);
        Self {
            matches: failed.is_empty(),
            failed,
        }
    }
}
