//! What the API's documents hold of refused requests.

use serde::Deserialize;

/// The last refused requests of a source, and how many there were.
#[derive(Debug, Deserialize)]
pub(super) struct RejectedRequestList {
    pub(super) items: Vec<Rejection>,
    /// How many were kept, ever.
    #[serde(default)]
    pub(super) kept: u64,
    /// How many more came too fast to be kept.
    #[serde(default)]
    pub(super) counted: u64,
}

/// A refused request; from `query` on only when asked for by id.
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

/// A header; without its value where that is nobody's business.
#[derive(Debug, Deserialize)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) value: Option<String>,
}

/// What would have matched, or is missing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Finding {
    pub(super) kind: String,
    /// The same in plain words.
    pub(super) text: String,
    pub(super) scheme: Option<String>,
}
