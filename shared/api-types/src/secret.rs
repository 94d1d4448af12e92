//! Secrets that a response shows once.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A secret or token in a response. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct ShownSecret(String);

impl ShownSecret {
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for ShownSecret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for ShownSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownSecret(hidden)")
    }
}
