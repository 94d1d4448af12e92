//! What every function that speaks HTTP has in common: answers, problems, and bodies bounded in size and time.

pub mod answer;
pub mod body;
pub mod envelope;
#[cfg(feature = "lambda")]
pub mod lambda;
pub mod problem;

use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

/// A string that is one of a few words.
pub fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .enum_values(Some(words))
        .build()
}
