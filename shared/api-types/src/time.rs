//! Instants as the API writes them.

use std::borrow::Cow;
use std::fmt;

use postrider_domain::time::Timestamp;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

/// An instant in RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiTime(pub Timestamp);

impl fmt::Display for ApiTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Timestamp> for ApiTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl Serialize for ApiTime {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ApiTime {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(from)?;
        Timestamp::parse_rfc3339(&text)
            .map(Self)
            .map_err(Error::custom)
    }
}

impl PartialSchema for ApiTime {
    fn schema() -> RefOr<Schema> {
        let object = ObjectBuilder::new()
            .schema_type(SchemaType::new(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("An instant in RFC 3339."));
        Schema::from(object).into()
    }
}

impl ToSchema for ApiTime {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Time")
    }
}
