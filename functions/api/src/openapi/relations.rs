//! Fields that depend on each other, which a derived schema cannot express: one variant per case.

mod custom;

use postrider_api_types::retry::schema::RetryDelays;
use postrider_api_types::schema::{PublicUrl, one_of};
use postrider_api_types::source::CustomFields;
use postrider_api_types::word::Vocabulary;
use postrider_domain::retry::Profile;
use postrider_domain::scheme::{CUSTOM, Handshake, Scheme};
use utoipa::ToSchema;
use utoipa::openapi::schema::{
    AllOfBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{Components, OpenApi, Ref, RefOr};

/// Replaces the schemas of inputs whose fields depend on each other.
pub(crate) fn state_relations(document: &mut OpenApi) {
    if let Some(components) = &mut document.components {
        replace(components, "RetrySettings", retry_settings);
        replace(components, "NewSource", new_source);
        replace(components, "CustomScheme", custom::scheme);
        replace(components, "TemplateTest", template_test);
    }
}

fn replace(components: &mut Components, name: &str, relate: fn(Variant) -> Schema) {
    if let Some(RefOr::T(schema)) = components.schemas.get_mut(name)
        && let Schema::Object(object) = schema
    {
        *schema = relate(Variant(object.clone()));
    }
}

fn one_of_variants(variants: impl IntoIterator<Item = Variant>) -> OneOfBuilder {
    let items = variants.into_iter().map(|Variant(object)| object);
    items.fold(OneOfBuilder::new(), OneOfBuilder::item)
}

/// The profile `custom` has no delays of its own.
fn retry_settings(mut all: Variant) -> Schema {
    let description = all.take_description();
    let custom = Profile::Custom.name();
    let others = <Profile as Vocabulary>::names().filter(|name| *name != custom);
    let other = OneOfBuilder::new().item(one_of(others)).item(null());
    let variants = [
        all.clone().with("profile", Schema::from(other)),
        all.with("profile", Schema::from(one_of([custom])))
            .with("delays_seconds", reference::<RetryDelays>())
            .require(["profile", "delays_seconds"]),
    ];
    one_of_variants(variants).description(description).into()
}

/// A template is tried on a payload or on a stored event.
fn template_test(mut all: Variant) -> Schema {
    let description = all.take_description();
    let variants = [
        all.clone().remove("event_id").require(["payload"]),
        all.remove("payload").require(["event_id"]),
    ];
    one_of_variants(variants).description(description).into()
}

/// Some fields apply only to some schemes.
fn new_source(mut all: Variant) -> Schema {
    let description = all.take_description();
    let is_meta = |scheme: &Scheme| scheme.handshake == Some(Handshake::Meta);
    let names = |fits: &dyn Fn(&Scheme) -> bool| {
        let rows = Scheme::all().filter(|scheme| fits(scheme));
        Schema::from(one_of(rows.map(|scheme| scheme.name)))
    };
    let plain = all.clone().without("custom").without("verify_token");
    let custom = all
        .clone()
        .without("verify_token")
        .with("scheme", Schema::from(one_of([CUSTOM])))
        .with("custom", reference::<CustomFields>())
        .require(["custom"]);
    let variants = [
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
        custom
            .clone()
            .with("public_url", reference::<PublicUrl>())
            .require(["public_url"]),
        custom.without("public_url").with("custom", without_url()),
    ];
    one_of_variants(variants).description(description).into()
}

/// A custom scheme that does not sign the URL.
fn without_url() -> Schema {
    let signed = ObjectBuilder::new()
        .schema_type(text_or_null())
        .pattern(Some(r"^(?!.*\{url\})"));
    let narrowed = ObjectBuilder::new().property("signed", signed);
    let all = AllOfBuilder::new()
        .item(reference::<CustomFields>())
        .item(narrowed);
    all.into()
}

fn or_null(schema: impl Into<RefOr<Schema>>) -> Schema {
    OneOfBuilder::new().item(schema).item(null()).into()
}

/// An object with some of its fields narrowed down.
#[derive(Clone, Default)]
struct Variant(Object);

impl Variant {
    fn take_description(&mut self) -> Option<String> {
        self.0.description.take()
    }

    /// For a field that is narrowed down elsewhere.
    fn with_any_text(self, field: &str) -> Self {
        let text = ObjectBuilder::new().schema_type(text_or_null());
        self.with(field, Schema::from(text))
    }

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
            RefOr::T(Schema::AllOf(mut all_of)) => {
                all_of.description = description;
                RefOr::T(all_of.into())
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

    fn remove(mut self, field: &str) -> Self {
        self.0.properties.remove(field);
        self
    }

    fn require<const N: usize>(mut self, fields: [&str; N]) -> Self {
        self.0.required.extend(fields.map(str::to_owned));
        self
    }
}

fn text_or_null() -> SchemaType {
    SchemaType::from_iter([Type::String, Type::Null])
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
    use std::collections::BTreeSet;

    use serde_json::Value;

    use crate::endpoints;

    fn variants(name: &str) -> Vec<Value> {
        let document = serde_json::to_value(endpoints::document()).unwrap();
        let variants = &document["components"]["schemas"][name]["oneOf"];
        variants.as_array().unwrap().clone()
    }

    pub(super) fn requires(variant: &Value, field: &str) -> bool {
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
        let schemes: BTreeSet<&str> = variants
            .iter()
            .flat_map(|variant| variant["properties"]["scheme"]["enum"].as_array().unwrap())
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(schemes.len(), super::Scheme::names().count());
        assert!(super::Scheme::names().all(|name| schemes.contains(name)));
        let custom = variants.last().unwrap();
        assert!(requires(custom, "custom"));
        for field in ["scheme", "custom"] {
            assert!(
                custom["properties"][field]["description"].is_string(),
                "{field}"
            );
        }
    }
    #[test]
    fn a_custom_source_that_signs_the_url_has_one() {
        let variants = variants("NewSource");
        let [.., with_url, without_url] = variants.as_slice() else {
            panic!("{variants:?}");
        };
        assert!(requires(with_url, "public_url"));
        assert_eq!(without_url["properties"]["public_url"]["type"], "null");
        let narrowed = &without_url["properties"]["custom"]["allOf"][1];
        let pattern = &narrowed["properties"]["signed"]["pattern"];
        assert!(pattern.as_str().unwrap().contains("url"), "{narrowed}");
    }
}
