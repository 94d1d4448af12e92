use serde_json::json;

use super::*;
use crate::json_schema::{DIALECT, MAX_SCHEMA_BYTES, MAX_SCHEMA_DEPTH};

fn entry(name: &str, description: &str) -> CatalogueEntry {
    let draft = CatalogueDraft {
        description: Some(description.to_owned()),
        ..CatalogueDraft::default()
    };
    draft.check(name.parse().unwrap(), Timestamp::ZERO).unwrap()
}

#[test]
fn a_stored_schema_is_compiled() {
    let mut stored = entry("a.b", "x");
    assert!(stored.compiled().is_none());
    stored.schema = Some(json!({"type": "object"}));
    assert!(stored.compiled().unwrap().is_ok());
    stored.schema = Some(json!([]));
    assert!(stored.compiled().unwrap().is_err());
}

#[test]
fn the_time_of_storing_is_not_what_an_entry_says() {
    let stored = CatalogueEntry {
        updated_at: Timestamp::from_millis(5),
        ..entry("a.b", "x")
    };
    assert!(stored.says_the_same_as(&entry("a.b", "x")));
    assert!(!stored.says_the_same_as(&entry("a.b", "y")));
}

fn complaints(draft: CatalogueDraft) -> Vec<String> {
    let errors = draft.check("a.b".parse().unwrap(), Timestamp::ZERO);
    let errors = errors.unwrap_err().into_fields().into_iter();
    errors
        .map(|error| format!("{}: {}", error.field, error.message))
        .collect()
}

fn of_schema(schema: Value) -> String {
    let draft = CatalogueDraft {
        schema: Some(schema),
        ..CatalogueDraft::default()
    };
    complaints(draft).remove(0)
}

#[test]
fn every_invalid_field_is_reported() {
    let bad = CatalogueDraft {
        description: Some("x".repeat(MAX_DESCRIPTION_CHARS + 1)),
        group: Some("a\nb".to_owned()),
        schema: Some(json!([])),
        examples: vec![json!("x".repeat(MAX_EXAMPLE_BYTES)); MAX_EXAMPLES + 1],
        lifecycle: Lifecycle::Current,
    };
    let found = complaints(bad);
    let fields: Vec<_> = found
        .iter()
        .map(|it| it.split(':').next().unwrap())
        .collect();
    let examples = [
        "examples",
        "examples[0]",
        "examples[1]",
        "examples[2]",
        "examples[3]",
        "examples[4]",
    ];
    assert_eq!(fields[..3], ["description", "group", "schema"]);
    assert_eq!(fields[3..], examples);
}

#[test]
fn a_schema_refers_only_to_itself() {
    let fits = json!({"$schema": DIALECT, "$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"$ref": {"type": "string"}}}}});
    let draft = CatalogueDraft {
        schema: Some(fits),
        ..CatalogueDraft::default()
    };
    assert!(draft.check("a".parse().unwrap(), Timestamp::ZERO).is_ok());
    for target in [
        "https://example.com/a.json",
        "file:///etc/passwd",
        "other.json#/a",
        "",
    ] {
        let found = of_schema(json!({"properties": {"a": {"$ref": target}}}));
        assert!(found.contains("only to itself"), "{target}: {found}");
    }
    assert!(of_schema(json!({"items": {"$id": "https://example.com/"}})).contains("root"));
    assert!(
        of_schema(json!({"$schema": "http://json-schema.org/draft-07/schema#"}))
            .contains("2020-12")
    );
    assert!(of_schema(json!({"a": "x".repeat(MAX_SCHEMA_BYTES)})).contains("bytes"));
    let deep = (0..=MAX_SCHEMA_DEPTH).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(of_schema(deep).contains("levels deep"));
}

#[test]
fn an_example_may_be_as_long_as_the_limit() {
    let with_example = |bytes: usize| CatalogueDraft {
        examples: vec![json!("x".repeat(bytes - 2))],
        ..CatalogueDraft::default()
    };
    let longest = with_example(16_384).check("a".parse().unwrap(), Timestamp::ZERO);
    assert!(longest.is_ok());
    assert_eq!(complaints(with_example(16_385)).len(), 1);
}

#[test]
fn a_tenants_own_entry_hides_that_of_the_operator() {
    let own = vec![entry("order.paid", "mine"), entry("zoo", "mine")];
    let shared = vec![entry("a", "theirs"), entry("order.paid", "theirs")];
    let all = merged(own, shared);
    let shown: Vec<_> = all
        .iter()
        .map(|it| {
            (
                it.entry.name.as_str(),
                it.entry.description.as_deref().unwrap(),
                it.owner,
            )
        })
        .collect();
    let expected = [
        ("a", "theirs", EntryOwner::Operator),
        ("order.paid", "mine", EntryOwner::Tenant),
        ("zoo", "mine", EntryOwner::Tenant),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn event_types_are_read_from_an_openapi_document() {
    let document = json!({
        "openapi": "3.1.0",
        "webhooks": {
            "order.paid": {"post": {
                "summary": "An order was paid", "tags": ["Orders"], "deprecated": true,
                "requestBody": {"content": {"application/json": {
                    "schema": {"$ref": "#/components/schemas/Order"},
                    "examples": {"small": {"value": {"id": 1}}, "none": {"summary": "no value"}},
                }}},
            }},
            "ping": {"description": "Nothing"},
        },
        "components": {"schemas": {
            "Order": {"properties": {"next": {"$ref": "#/components/schemas/Order"}, "by": {"$ref": "#/components/schemas/User"}}},
            "User": {"type": "string", "const": "#/components/schemas/Other"}, "Other": {},
        }},
    });
    let found = import(&document).unwrap();
    let (name, order) = &found[0];
    assert_eq!(name, "order.paid");
    assert_eq!(order.description.as_deref(), Some("An order was paid"));
    assert_eq!(
        (order.group.as_deref(), order.lifecycle),
        (Some("Orders"), Lifecycle::Deprecated)
    );
    assert_eq!(order.examples, [json!({"id": 1})]);
    let expected = json!({
        "$ref": "#/$defs/Order",
        "$defs": {
            "Order": {"properties": {"next": {"$ref": "#/$defs/Order"}, "by": {"$ref": "#/$defs/User"}}},
            "User": {"type": "string", "const": "#/components/schemas/Other"},
        },
    });
    assert_eq!(order.schema, Some(expected));
    let (_, ping) = &found[1];
    assert_eq!(
        (ping.description.as_deref(), &ping.schema),
        (Some("Nothing"), &None)
    );
    for (_, draft) in found {
        assert!(draft.check("a".parse().unwrap(), Timestamp::ZERO).is_ok());
    }
    assert_eq!(
        import(&json!({"openapi": "3.0.3", "webhooks": {}})),
        Err(ImportError::OtherVersion)
    );
    assert_eq!(
        import(&json!({"openapi": "3.1.0"})),
        Err(ImportError::NoWebhooks)
    );
}
