//! Parts that several answers share.

use postrider_domain::time::Timestamp;
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, SchemaFormat, SchemaType, Type};

/// An instant, written in RFC 3339.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time(pub(crate) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl utoipa::PartialSchema for Time {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Object::from(time_object()).into()
    }
}

impl utoipa::ToSchema for Time {}

fn time_object() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::String))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some("An instant, in RFC 3339."))
}

/// A list in pages.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Listing<T> {
    /// What was found.
    pub(crate) items: Vec<T>,
    /// Where to go on; `null` at the end. A page may be short, even empty, and still have one.
    #[schema(required)]
    pub(crate) next_cursor: Option<String>,
}

impl<T> Listing<T> {
    /// A list that is never parted.
    pub(crate) fn whole(items: impl IntoIterator<Item = T>) -> Self {
        Self {
            items: items.into_iter().collect(),
            next_cursor: None,
        }
    }
}
