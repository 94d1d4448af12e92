//! Why a delivery has not arrived.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a delivery has not arrived, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Why)]
pub struct WhyView {
    /// What happened, in a few words.
    pub title: String,
    /// What that means.
    pub meaning: String,
    /// What to do, one step each.
    pub advice: Vec<String>,
    /// What happens next without intervention.
    pub outlook: String,
}
