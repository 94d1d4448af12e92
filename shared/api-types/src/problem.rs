//! Errors as RFC 9457 problems with a stable code.

mod code;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use code::Code;

use crate::schema;
use crate::word::Word;

/// An RFC 9457 problem, the body of every error response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// The page that explains the code.
    #[serde(rename = "type", default)]
    #[schema(required)]
    pub kind: String,
    /// The same for every problem with this code.
    #[schema(required, value_type = String)]
    pub title: Option<String>,
    /// The HTTP status.
    #[serde(default)]
    #[schema(required)]
    pub status: u16,
    /// A description of the error; its wording may change.
    #[schema(required, value_type = String)]
    pub detail: Option<String>,
    /// The machine-readable code, which never changes.
    #[schema(required, value_type = schema::ProblemCode)]
    pub code: Option<Word<Code>>,
    /// The invalid fields; empty if there are none.
    #[serde(default)]
    #[schema(required)]
    pub errors: Vec<InvalidField>,
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = FieldError)]
pub struct InvalidField {
    /// The path of the field, such as `retry.delays_seconds`; the name of a header or parameter; or `body` for the whole
    /// body.
    pub field: String,
    /// A JSON pointer to the place in the field's value, if the error is about a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The rule that the field violates, including the limit.
    pub message: String,
}
