//! Exports and imports. The records are lines of the file that `postrider export` writes.

use std::fmt;

use postrider_domain::transfer::MovedDeliveries;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::json::{Name, strict};
use crate::problem::InvalidField;
use crate::schema;
use crate::word::{Vocabulary, Word};

/// The most records of one import.
pub const MAX_RECORDS: usize = 100;

/// The key that secrets in records are sealed with: 64 hexadecimal digits. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SealingKey(String);

impl SealingKey {
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for SealingKey {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(hidden)")
    }
}

/// What to export, and where to continue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportRequest {
    /// The key to seal secrets, header values and digests of API keys with (AES-256-GCM).
    #[schema(value_type = schema::TransferKey)]
    pub key: SealingKey,
    /// Which deliveries to export, with their events; `none` by default.
    #[serde(
        default,
        serialize_with = "name",
        deserialize_with = "strict::<_, Name<MovedDeliveries>>"
    )]
    #[schema(value_type = schema::MovedDeliveries)]
    pub deliveries: MovedDeliveries,
    /// Pause each webhook when it is exported, so that no open delivery is sent by two gateways. It is exported with the
    /// status that it had.
    #[serde(default)]
    pub pause_webhooks: bool,
    /// The `next_cursor` of the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema::Cursor>)]
    pub cursor: Option<String>,
}

fn name<S: serde::Serializer>(value: &MovedDeliveries, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(value.as_str())
}

/// A page of an export.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ExportPage)]
pub struct ExportPageView {
    /// To be imported in this order. May be empty before the end.
    #[schema(value_type = Vec<Object>)]
    pub records: Vec<Box<RawValue>>,
    /// Where the next page starts; `null` at the end.
    #[schema(required)]
    pub next_cursor: Option<String>,
    /// The page ended early, at a delivery that is being attempted: ask for the next page in a moment.
    pub in_flight: bool,
}

/// Records of an export.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// The key that the records were sealed with.
    #[schema(value_type = schema::TransferKey)]
    pub key: SealingKey,
    /// Replace what exists and differs, instead of reporting a conflict.
    #[serde(default)]
    pub replace: bool,
    /// In the order of the export.
    #[schema(value_type = Vec<Object>, min_items = 1, max_items = 100)]
    pub records: Vec<Box<RawValue>>,
}

/// What an import did with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportResult {
    Created,
    /// It was there, and the same.
    Unchanged,
    Replaced,
    /// It is there and differs; nothing was changed.
    Conflict,
    /// It is invalid, or a limit is reached.
    Rejected,
}

impl Vocabulary for ImportResult {
    const ALL: &'static [Self] = &[
        Self::Created,
        Self::Unchanged,
        Self::Replaced,
        Self::Conflict,
        Self::Rejected,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Unchanged => "unchanged",
            Self::Replaced => "replaced",
            Self::Conflict => "conflict",
            Self::Rejected => "rejected",
        }
    }
}

/// The result of one record.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ImportedRecord)]
pub struct ImportedRecordView {
    #[schema(value_type = schema::ImportResult)]
    pub result: Word<ImportResult>,
    /// Why it is a conflict or rejected.
    #[schema(required)]
    pub detail: Option<String>,
    /// The fields of a rejected record that are invalid.
    pub errors: Vec<InvalidField>,
}

/// The result of an import.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = ImportResults)]
pub struct ImportResultsView {
    /// One per record, in order.
    pub results: Vec<ImportedRecordView>,
}
