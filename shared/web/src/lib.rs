//! Shared by all HTTP functions: responses, problems, and reading bodies with limits on size and time.

pub mod answer;
pub mod body;
pub mod envelope;
#[cfg(feature = "lambda")]
pub mod lambda;
pub mod problem;

use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

/// The schema of a string that is one of these values.
pub fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .enum_values(Some(words))
        .build()
}
