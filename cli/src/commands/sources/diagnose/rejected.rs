//! The fields of the API's documents about rejected requests.

use serde::Deserialize;

/// The most recent rejected requests of a source, and how many there were.
#[derive(Debug, Deserialize)]
pub(super) struct RejectedRequestList {
    pub(super) items: Vec<Rejection>,
    /// How many were ever stored.
    #[serde(default)]
    pub(super) kept: u64,
    /// How many more were counted but not stored, because they arrived too fast.
    #[serde(default)]
    pub(super) counted: u64,
}

/// A rejected request. Only a request for a single one returns `query` and the fields after it.
#[derive(Debug, Deserialize)]
pub(super) struct Rejection {
    pub(super) id: String,
    pub(super) at: String,
    pub(super) detail: String,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) content_type: Option<String>,
    pub(super) body_bytes: u64,
    pub(super) query: Option<String>,
    #[serde(default)]
    pub(super) headers: Vec<Header>,
    pub(super) body: Option<String>,
    pub(super) body_base64: Option<String>,
    #[serde(default)]
    pub(super) is_cut: bool,
    #[serde(default)]
    pub(super) findings: Vec<Finding>,
}

/// A header; sensitive values are omitted.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// What would have matched, or what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Finding {
    pub(super) kind: String,
    /// The finding as a sentence.
    pub(super) text: String,
    pub(super) scheme: Option<String>,
}
