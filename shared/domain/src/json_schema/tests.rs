use serde_json::{Map, json};

use super::*;

fn compiled(source: &Value) -> Schema {
    Schema::compile("schema", source).unwrap()
}

fn faults(schema: &Value, payload: &Value) -> Vec<String> {
    let faults = compiled(schema).faults_of(payload).into_iter();
    faults.map(|fault| fault.to_string()).collect()
}

fn errors(source: &Value) -> Vec<String> {
    let errors = Schema::compile("schema", source).unwrap_err();
    let errors = errors.into_fields().into_iter();
    errors
        .map(|error| format!("{}: {}", error.field, error.message))
        .collect()
}

#[test]
fn a_fault_says_where_it_is_and_what_is_asked_for() {
    let schema = json!({
        "type": "object",
        "required": ["id", "lines"],
        "additionalProperties": false,
        "properties": {
            "id": {"type": "string", "pattern": "^A-[0-9]+$"},
            "total": {"type": "number", "minimum": 0, "multipleOf": 0.01},
            "currency": {"enum": ["EUR", "USD"]},
            "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/line"}},
            "a/b~c": {"type": ["string", "null"]}
        },
        "$defs": {"line": {"required": ["sku", "count"], "properties": {"count": {"type": "integer", "exclusiveMinimum": 0}}}}
    });
    let payload = json!({"id": "secret-7", "total": -0.005, "currency": "secret", "a/b~c": 3, "secret-name": 1,
        "lines": [{"sku": "x", "count": 1.0}, {"count": 0}]});
    let expected = [
        "/a~1b~0c must be a string or null",
        "/currency must be \"EUR\" or \"USD\"",
        "/id must match the pattern ^A-[0-9]+$",
        "/lines/1 needs the property `sku`",
        "/lines/1/count must be more than 0",
        "/secret-name is not allowed here",
        "/total must be a multiple of 0.01",
        "/total must be at least 0",
    ];
    assert_eq!(faults(&schema, &payload), expected);
    assert_eq!(
        faults(&schema, &json!([])),
        ["the payload must be an object"]
    );
    let missing = faults(&schema, &json!({}));
    assert_eq!(missing, ["the payload needs the properties `id`, `lines`"]);
}

#[test]
fn a_fault_never_repeats_the_payload() {
    let schema = json!({"properties": {"a": {"allOf": [
        {"type": "number"}, {"enum": [1]}, {"const": 2}, {"maxLength": 3}, {"pattern": "^x$"}, {"not": {"type": "string"}},
        {"anyOf": [false]}, {"oneOf": [true, true]}, {"if": true, "then": false}
    ]}}});
    let found = faults(&schema, &json!({"a": "hunter2"}));
    assert_eq!(found.len(), 9, "{found:?}");
    assert!(found.iter().all(|fault| !fault.contains("hunter2")));
}

#[test]
fn only_so_many_faults_are_reported() {
    let schema = json!({"items": {"type": "string"}});
    assert_eq!(faults(&schema, &json!(vec![1; 100])).len(), MAX_FAULTS);
    let name = "ü".repeat(1000);
    let schema = json!({"additionalProperties": false});
    let found = faults(&schema, &json!({name: 1}));
    assert!(found[0].chars().count() < MAX_POINTER_CHARS + 50);
}

#[test]
fn a_payload_that_is_not_json_is_a_fault() {
    let schema = compiled(&json!(true));
    for body in ["<a/>", "", "{", "\u{feff}{}"] {
        let faults = schema.faults(&Payload::new(body.into()));
        assert_eq!(faults.len(), 1, "{body}");
    }
    let scalar = Payload::new("7".into());
    assert_eq!(schema.faults(&scalar), []);
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(schema.faults(&Payload::new(deep.into())).len(), 1);
}

#[test]
fn every_error_of_a_schema_names_its_place() {
    let found = errors(&json!({
        "type": "objct",
        "required": "id",
        "properties": {"a/b": {"pattern": "(?=x)", "minLength": -1}, "c": 7},
        "items": {"$ref": "other.json#/a"},
        "allOf": [],
        "not": {"$ref": "#/$defs/none"},
        "$defs": {"x": {"$id": "https://example.com/x", "multipleOf": 0, "enum": 3}}
    }));
    let places = [
        "schema: at /$defs/x/$id: ",
        "schema: at /$defs/x/enum: ",
        "schema: at /$defs/x/multipleOf: ",
        "schema: at /type: must be one of null, boolean,",
        "schema: at /allOf: ",
        "schema: at /items/$ref: the schema may refer only to itself",
        "schema: at /required: ",
        "schema: at /properties/a~1b/minLength: ",
        "schema: at /properties/a~1b/pattern: ",
        "schema: at /properties/c: ",
        "schema: at /not/$ref: refers to a part of the schema that is not there",
    ];
    for place in places {
        assert!(
            found.iter().any(|it| it.starts_with(place)),
            "{place} {found:#?}"
        );
    }
    assert_eq!(found.len(), places.len(), "{found:#?}");
    let twice = errors(&json!({"type": ["null", "integer", "null"]}));
    assert_eq!(twice, ["schema: at /type: must not list a type twice"]);
}

#[test]
fn a_schema_that_would_never_end_is_rejected() {
    for circle in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#/allOf/0"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"if": {"$ref": "#/$defs/a"}}}}),
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
        json!({"$anchor": "a", "anyOf": [true, {"$dynamicRef": "#a"}]}),
    ] {
        let found = errors(&circle);
        assert!(found[0].contains("refers to itself"), "{circle}: {found:?}");
    }
    let tree =
        json!({"properties": {"children": {"items": {"$ref": "#"}}, "n": {"type": "integer"}}});
    let payload = json!({"n": 1, "children": [{"n": 2, "children": [{"n": "x"}]}]});
    assert_eq!(
        faults(&tree, &payload),
        ["/children/0/children/0/n must be an integer"]
    );
}

/// Definitions that refer to the next one twice: 2^n ways to check one value.
fn doubling(levels: usize, last: Value) -> Value {
    let mut definitions = Map::new();
    for n in 0..levels {
        let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
        definitions.insert(n.to_string(), json!({"allOf": [next, next]}));
    }
    definitions.insert(levels.to_string(), last);
    json!({"$ref": "#/$defs/0", "$defs": definitions})
}

fn named(count: usize) -> Map<String, Value> {
    (0..count).map(|n| (n.to_string(), json!(true))).collect()
}

const TOO_MUCH: [&str; 1] = ["the payload takes too much work to check against the schema"];

#[test]
fn the_work_is_bounded() {
    let twice = json!([{"$ref": "#"}, {"$ref": "#"}]);
    let nested = (0..100).fold(json!(1), |inner, _| json!({"a": inner}));
    let long = "a".repeat(300_000);
    let hostile = [
        (doubling(40, json!(true)), json!(1)),
        (
            json!({"properties": {"a": {"allOf": twice.clone()}}}),
            nested.clone(),
        ),
        (
            json!({"type": "object", "properties": {"a": {"anyOf": twice}}}),
            nested,
        ),
        (
            json!({"pattern": "(a|a|a|a|a|a|a|a)*(a|aa|aaa)*b"}),
            json!(long),
        ),
        (json!({"pattern": "(a{1,30}){1,13}b"}), json!(long)),
        (
            json!({"items": {"uniqueItems": true}, "allOf": vec![json!({"uniqueItems": true}); 300]}),
            json!((0..40_000).collect::<Vec<_>>()),
        ),
        (
            json!({"items": {"not": {"enum": (0..3000).collect::<Vec<_>>()}}}),
            json!(vec![-1; 100_000]),
        ),
        // Names are copied or compared as often as they are looked at.
        (
            doubling(11, json!({"propertyNames": true})),
            json!({ long.repeat(3): 1 }),
        ),
        (
            doubling(14, json!({"required": ["a".repeat(30_000)]})),
            json!({ "a".repeat(30_000): 1 }),
        ),
        (
            doubling(11, json!({"properties": {"a": true}})),
            json!({ long.repeat(3): 1 }),
        ),
        (
            json!({"items": {"dependentSchemas": named(1000)}}),
            json!(vec![json!({}); 10_000]),
        ),
    ];
    for (n, (schema, payload)) in hostile.into_iter().enumerate() {
        assert_eq!(faults(&schema, &payload), TOO_MUCH, "{n}");
    }
}

#[test]
fn regular_expressions_are_bounded_together() {
    let patterns: Map<String, Value> = (0..5)
        .map(|n| (format!("(a{{1,30}}){{1,13}}{n}"), json!(true)))
        .collect();
    let found = errors(&json!({"patternProperties": patterns}));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("too large together"), "{found:?}");
    let same = json!({"pattern": "(a{1,30}){1,13}b"});
    let often: Map<String, Value> = (0..20).map(|n| (n.to_string(), same.clone())).collect();
    assert!(Schema::compile("schema", &json!({"properties": often})).is_ok());
}

#[test]
fn a_chain_of_references_does_not_exhaust_the_stack() {
    let mut definitions = Map::new();
    for n in 0..700 {
        definitions.insert(n.to_string(), json!({"$ref": format!("#/$defs/{}", n + 1)}));
    }
    definitions.insert("700".to_owned(), json!(false));
    let chain = json!({"$ref": "#/$defs/0", "$defs": definitions});
    assert_eq!(faults(&chain, &json!(1)), TOO_MUCH);
}

#[test]
fn the_deepest_payload_can_be_checked() {
    let tree = json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "type": ["object", "integer"]}}});
    let nested = |value| (0..120).fold(value, |inner, _| json!({"a": inner}));
    assert_eq!(faults(&tree, &nested(json!(1))), [""; 0]);
    assert_eq!(faults(&tree, &nested(json!("x"))).len(), 1);
}

#[test]
fn a_large_ordinary_payload_is_cheap_enough() {
    let schema = json!({"type": "object", "required": ["lines"], "properties": {"lines": {"items": {
        "type": "object", "required": ["id", "name", "price"], "additionalProperties": false,
        "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 40, "pattern": "^[A-Za-z ]+$"},
            "price": {"type": "number", "minimum": 0}, "currency": {"enum": ["EUR", "USD"]}}}}}});
    let line =
        json!({"id": 12345, "name": "An article of the shop", "price": 12.5, "currency": "EUR"});
    let payload = json!({"lines": vec![line; 12_000]});
    assert!(payload.to_string().len() > 900_000);
    assert_eq!(faults(&schema, &payload), [""; 0]);
}

#[test]
fn a_multiple_is_counted_in_decimal() {
    let schema = compiled(&json!({"multipleOf": 0.01}));
    for fits in [json!(4.35), json!(0.07), json!(1e300), json!(-12), json!(0)] {
        assert_eq!(schema.faults_of(&fits), [], "{fits}");
    }
    assert_eq!(schema.faults_of(&json!(4.351)).len(), 1);
    assert_eq!(schema.faults_of(&json!(1e-300)).len(), 1);
}
