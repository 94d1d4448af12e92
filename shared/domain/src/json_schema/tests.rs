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
fn one_value_or_one_schema_has_no_more_faults_than_are_reported() {
    let patterns: Map<String, Value> = (0..25).map(|n| (format!("a|{n}"), json!(false))).collect();
    let schema = json!({"patternProperties": patterns});
    assert_eq!(faults(&schema, &json!({"a": 1})).len(), MAX_FAULTS);
    let wrong: Map<String, Value> = (0..25).map(|n| (n.to_string(), json!(7))).collect();
    assert_eq!(errors(&json!({"properties": wrong})).len(), MAX_FAULTS);
}

#[test]
fn the_words_of_a_fault_fit_the_numbers_of_the_rule() {
    for (rule, payload, expected) in [
        (
            json!({"contains": {"const": 1}}),
            json!([]),
            "must have an item that matches `contains`",
        ),
        (
            json!({"contains": {"const": 1}, "minContains": 2}),
            json!([1]),
            "must have at least 2 items that match `contains`",
        ),
        (
            json!({"contains": {"const": 1}, "maxContains": 3}),
            json!([]),
            "must have 1 to 3 items that match `contains`",
        ),
        (
            json!({"contains": {"const": 1}, "minContains": 0, "maxContains": 2}),
            json!([1, 1, 1]),
            "must have at most 2 items that match `contains`",
        ),
        (
            json!({"minLength": 1}),
            json!(""),
            "must have at least 1 character",
        ),
        (
            json!({"maxLength": 2}),
            json!("abc"),
            "must have at most 2 characters",
        ),
        (
            json!({"minItems": 1}),
            json!([]),
            "must have at least 1 item",
        ),
        (
            json!({"maxItems": 0}),
            json!([1]),
            "must have at most 0 items",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            "must have at least 1 property",
        ),
        (
            json!({"minProperties": 2}),
            json!({}),
            "must have at least 2 properties",
        ),
        (
            json!({"enum": [1, 2, 3, 4, 5, 6]}),
            json!(0),
            "must be 1, 2, 3, 4, 5 or 6",
        ),
        (
            json!({"enum": [1, 2, 3, 4, 5, 6, 7]}),
            json!(0),
            "must be one of the 7 values in `enum`",
        ),
        (
            json!({"enum": []}),
            json!(0),
            "must be one of the 0 values in `enum`",
        ),
        (
            json!({"const": "x".repeat(118)}),
            json!(0),
            &format!("must be \"{}\"", "x".repeat(118)),
        ),
        (
            json!({"const": "x".repeat(119)}),
            json!(0),
            "must be the value in `const`",
        ),
        (
            json!({"oneOf": [false, false]}),
            json!(0),
            "matches none of the alternatives (`oneOf`)",
        ),
        (
            json!({"oneOf": [true, true]}),
            json!(0),
            "matches more than one of the alternatives (`oneOf`)",
        ),
        (
            json!({"anyOf": [false, false]}),
            json!(0),
            "matches none of the alternatives (`anyOf`)",
        ),
    ] {
        assert_eq!(
            faults(&rule, &payload),
            [format!("the payload {expected}")],
            "{rule}"
        );
    }
}

#[test]
fn what_must_not_match_is_judged_like_anything_else() {
    let is_one = json!({"const": 1});
    for (rule, fits, fails) in [
        (json!({"allOf": [is_one, true]}), json!(1), json!(2)),
        (json!({"anyOf": [is_one, false]}), json!(1), json!(2)),
        (json!({"items": is_one}), json!([1, 1]), json!([1, 2, 1])),
        (
            json!({"properties": {"a": is_one}}),
            json!({"a": 1, "b": 2}),
            json!({"a": 2, "b": 1}),
        ),
        (
            json!({"patternProperties": {"a": is_one}}),
            json!({"a": 1, "b": 2}),
            json!({"a": 2, "b": 1}),
        ),
        (
            json!({"additionalProperties": is_one}),
            json!({"a": 1}),
            json!({"a": 2, "b": 1}),
        ),
        (
            json!({"propertyNames": {"const": "a"}}),
            json!({"a": 1}),
            json!({"a": 1, "b": 1}),
        ),
        (
            json!({"prefixItems": [true], "unevaluatedItems": is_one}),
            json!([2, 1]),
            json!([1, 2, 1]),
        ),
        (
            json!({"properties": {"a": true}, "unevaluatedProperties": is_one}),
            json!({"a": 2, "b": 1}),
            json!({"a": 1, "b": 2, "c": 1}),
        ),
    ] {
        let negated = json!({"not": rule});
        assert_eq!(faults(&rule, &fits), [""; 0], "{rule}");
        assert_eq!(faults(&rule, &fails).len(), 1, "{rule}");
        assert_eq!(faults(&negated, &fits).len(), 1, "{rule}");
        assert_eq!(faults(&negated, &fails), [""; 0], "{rule}");
    }
}

#[test]
fn a_field_that_is_wrong_is_not_also_unexpected() {
    let order = json!({"properties": {"id": {"type": "string"}, "lines": {"prefixItems": [{"type": "string"}]}}});
    let schema = json!({"$ref": "#/$defs/order", "$defs": {"order": order}, "unevaluatedProperties": false,
        "properties": {"list": {"allOf": [{"prefixItems": [{"type": "string"}, true]}], "unevaluatedItems": false}}});
    let payload = json!({"id": 1, "lines": [], "list": [1, 2, 3], "more": 1});
    let expected = [
        "/id must be a string",
        "/list/0 must be a string",
        "/list/2 is not allowed here",
        "/more is not allowed here",
    ];
    assert_eq!(faults(&schema, &payload), expected);
}

#[test]
fn a_schema_may_be_as_long_as_the_limit() {
    let long = |bytes: usize| {
        let rest = json!({"title": ""}).to_string().len();
        json!({"title": "x".repeat(bytes - rest)})
    };
    assert!(Schema::compile("schema", &long(32_768)).is_ok());
    assert_eq!(
        errors(&long(32_769)),
        ["schema: must be at most 32768 bytes"]
    );
}

#[test]
fn an_anchor_is_a_name_of_one_place() {
    let unnamed = Some("at /$anchor: must be a name");
    for (anchors, expected) in [
        (json!({"$anchor": "a", "$dynamicAnchor": "a"}), None),
        (json!({"$anchor": "a", "items": {"$anchor": "b"}}), None),
        (
            json!({"$anchor": "a", "items": {"$anchor": "a"}}),
            Some("at /items/$anchor: there is another anchor with this name"),
        ),
        (json!({"$anchor": ""}), unnamed),
        (json!({"$anchor": "/a"}), unnamed),
        (json!({"$anchor": 1}), unnamed),
    ] {
        let found = Schema::compile("schema", &anchors).err();
        let found = found.map(|errors| errors.into_fields().remove(0).message);
        assert_eq!(found.as_deref(), expected, "{anchors}");
    }
}

#[test]
fn a_keyword_accepts_only_values_that_mean_something() {
    let fits = [
        json!({"minLength": 2.0}),
        json!({"maxItems": 0}),
        json!({"multipleOf": 1e-300}),
        json!({"type": ["null"]}),
    ];
    for schema in fits {
        assert!(Schema::compile("schema", &schema).is_ok(), "{schema}");
    }
    let wrong = [
        json!({"minLength": 1.5}),
        json!({"minLength": 1e15}),
        json!({"minLength": -1.0}),
        json!({"multipleOf": -1}),
        json!({"multipleOf": -0.5}),
        json!({"multipleOf": 0.0}),
        json!({"type": []}),
    ];
    for schema in wrong {
        assert_eq!(errors(&schema).len(), 1, "{schema}");
    }
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

/// A schema with this rule, and definitions of which `0` takes too much work for any value.
fn with_costly(mut rule: Value) -> Value {
    rule["$defs"] = doubling(40, json!(true))["$defs"].take();
    rule
}

#[test]
fn a_check_ends_as_soon_as_its_answer_is_known() {
    let costly = json!({"$ref": "#/$defs/0"});
    let unless_first = json!({"if": {"enum": ["a", 1]}, "then": false, "else": costly});
    let items = json!([1, 2]);
    let fields = json!({"a": 1, "b": 2});
    for (rule, payload) in [
        (json!({"not": {"type": "null", "allOf": [costly]}}), &items),
        (json!({"not": {"allOf": [false, costly]}}), &items),
        (json!({"anyOf": [true, costly]}), &items),
        (json!({"not": {"oneOf": [true, true, costly]}}), &items),
        (json!({"not": {"items": unless_first}}), &items),
        (json!({"not": {"unevaluatedItems": unless_first}}), &items),
        (
            json!({"not": {"additionalProperties": unless_first}}),
            &fields,
        ),
        (json!({"not": {"propertyNames": unless_first}}), &fields),
        (
            json!({"not": {"unevaluatedProperties": unless_first}}),
            &fields,
        ),
    ] {
        assert_eq!(
            faults(&with_costly(rule.clone()), payload),
            [""; 0],
            "{rule}"
        );
    }
    for rule in [
        json!({"not": {"allOf": [true, costly]}}),
        json!({"anyOf": [false, costly]}),
        json!({"not": {"oneOf": [true, costly]}}),
    ] {
        assert_eq!(
            faults(&with_costly(rule.clone()), &items),
            TOO_MUCH,
            "{rule}"
        );
    }
}

#[test]
fn a_check_ends_when_as_many_faults_are_found_as_are_reported() {
    let schema = with_costly(json!({"allOf": [{"items": false}, {"$ref": "#/$defs/0"}]}));
    assert_eq!(
        faults(&schema, &json!(vec![1; MAX_FAULTS])).len(),
        MAX_FAULTS
    );
    assert_eq!(faults(&schema, &json!(vec![1; MAX_FAULTS - 1])), TOO_MUCH);
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
    let chain = |links: usize| {
        let mut definitions = Map::new();
        for n in 1..links {
            definitions.insert(n.to_string(), json!({"$ref": format!("#/$defs/{}", n + 1)}));
        }
        definitions.insert(links.to_string(), json!(false));
        json!({"$ref": "#/$defs/1", "$defs": definitions})
    };
    let longest = faults(&chain(MAX_EVALUATION_DEPTH), &json!(1));
    assert_eq!(longest, ["the payload is not allowed here"]);
    for links in [MAX_EVALUATION_DEPTH + 1, 700] {
        assert_eq!(faults(&chain(links), &json!(1)), TOO_MUCH);
    }
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
    let sevens = compiled(&json!({"multipleOf": 7}));
    assert_eq!(sevens.faults_of(&json!(4900.0)), []);
    assert_eq!(sevens.faults_of(&json!(5000.0)).len(), 1);
    let elevens = compiled(&json!({"multipleOf": 11}));
    assert_eq!(elevens.faults_of(&json!(10.0)).len(), 1);
    assert_eq!(
        compiled(&json!({"multipleOf": 1e300})).faults_of(&json!(0)),
        []
    );
}
