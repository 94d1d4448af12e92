//! Fields that depend on each other, which a derived schema cannot express: one variant per case.

use postrider_api_types::retry::schema::RetryDelays;
use postrider_api_types::schema::{PublicUrl, one_of};
use postrider_api_types::source::CustomFields;
use postrider_api_types::word::Vocabulary;
use postrider_domain::retry::Profile;
use postrider_domain::scheme::{CUSTOM, Handshake, Scheme};
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{Components, OpenApi, Ref, RefOr};

/// Replaces the schemas of inputs whose fields depend on each other.
pub(crate) fn state_relations(document: &mut OpenApi) {
    if let Some(components) = &mut document.components {
        replace(components, "RetrySettings", retry_settings);
        replace(components, "NewSource", new_source);
    }
}

fn replace(components: &mut Components, name: &str, variants: fn(&Variant) -> Vec<Variant>) {
    if let Some(RefOr::T(schema)) = components.schemas.get_mut(name)
        && let Schema::Object(object) = schema
    {
        let mut whole = OneOfBuilder::new().description(object.description.take());
        for Variant(object) in variants(&Variant(object.clone())) {
            whole = whole.item(object);
        }
        *schema = whole.into();
    }
}

/// The profile `custom` has no delays of its own.
fn retry_settings(all: &Variant) -> Vec<Variant> {
    let custom = Profile::Custom.name();
    let others = <Profile as Vocabulary>::names().filter(|name| *name != custom);
    let other = OneOfBuilder::new().item(one_of(others)).item(null());
    vec![
        all.clone().with("profile", Schema::from(other)),
        all.clone()
            .with("profile", Schema::from(one_of([custom])))
            .with("delays_seconds", reference::<RetryDelays>())
            .require(["profile", "delays_seconds"]),
    ]
}

/// Some fields apply only to some schemes.
fn new_source(all: &Variant) -> Vec<Variant> {
    let is_meta = |scheme: &Scheme| scheme.handshake == Some(Handshake::Meta);
    let names = |fits: &dyn Fn(&Scheme) -> bool| {
        let rows = Scheme::all().filter(|scheme| fits(scheme));
        Schema::from(one_of(rows.map(|scheme| scheme.name)))
    };
    let plain = all.clone().without("custom").without("verify_token");
    vec![
        plain.clone().with(
            "scheme",
            names(&|scheme| !is_meta(scheme) && !scheme.signs_url()),
        ),
        plain
            .with("scheme", names(&Scheme::signs_url))
            .with("public_url", reference::<PublicUrl>())
            .require(["public_url"]),
        all.clone()
            .without("custom")
            .with("scheme", names(&is_meta)),
        all.clone()
            .without("verify_token")
            .with("scheme", Schema::from(one_of([CUSTOM])))
            .with("custom", reference::<CustomFields>())
            .require(["custom"]),
    ]
}

/// An object with some of its fields narrowed down.
#[derive(Clone)]
struct Variant(Object);

impl Variant {
    /// Narrows a field down; it keeps its description.
    fn with(mut self, field: &str, schema: impl Into<RefOr<Schema>>) -> Self {
        let description = self.0.properties.get(field).and_then(description);
        let described = match schema.into() {
            RefOr::Ref(mut reference) => {
                reference.description = description.unwrap_or_default();
                RefOr::Ref(reference)
            }
            RefOr::T(Schema::Object(mut object)) => {
                object.description = description;
                RefOr::T(object.into())
            }
            RefOr::T(Schema::OneOf(mut one_of)) => {
                one_of.description = description;
                RefOr::T(one_of.into())
            }
            other => other,
        };
        self.0.properties.insert(field.to_owned(), described);
        self
    }

    fn without(mut self, field: &str) -> Self {
        self.0
            .properties
            .insert(field.to_owned(), Schema::from(null()).into());
        self
    }

    fn require<const N: usize>(mut self, fields: [&str; N]) -> Self {
        self.0.required.extend(fields.map(str::to_owned));
        self
    }
}

fn null() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Null))
        .build()
}

fn reference<T: ToSchema>() -> RefOr<Schema> {
    Ref::from_schema_name(T::name()).into()
}

/// A field that may be `null` has its description at the first of its alternatives.
fn description(of: &RefOr<Schema>) -> Option<String> {
    match of {
        RefOr::Ref(reference) => Some(reference.description.clone()),
        RefOr::T(Schema::OneOf(one_of)) => one_of.items.first().and_then(description),
        RefOr::T(Schema::Object(object)) => object.description.clone(),
        RefOr::T(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::endpoints;
    use serde_json::Value;

    fn variants(name: &str) -> Vec<Value> {
        let document = serde_json::to_value(endpoints::document()).unwrap();
        let variants = &document["components"]["schemas"][name]["oneOf"];
        variants.as_array().unwrap().clone()
    }

    fn requires(variant: &Value, field: &str) -> bool {
        let required = variant["required"].as_array().cloned();
        required.unwrap_or_default().contains(&field.into())
    }

    #[test]
    fn custom_retry_settings_need_delays() {
        let [other, custom] = variants("RetrySettings").try_into().unwrap();
        assert!(!requires(&other, "delays_seconds"));
        assert!(requires(&custom, "delays_seconds"));
        assert_eq!(custom["properties"]["profile"]["enum"][0], "custom");
    }

    #[test]
    fn every_scheme_has_its_variant_and_each_field_its_description() {
        let variants = variants("NewSource");
        let schemes: Vec<&str> = variants
            .iter()
            .flat_map(|variant| variant["properties"]["scheme"]["enum"].as_array().unwrap())
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(schemes.len(), super::Scheme::names().count());
        assert!(super::Scheme::names().all(|name| schemes.contains(&name)));
        let custom = variants.last().unwrap();
        assert!(requires(custom, "custom"));
        for field in ["scheme", "custom"] {
            assert!(
                custom["properties"][field]["description"].is_string(),
                "{field}"
            );
        }
    }
}
