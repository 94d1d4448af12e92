use serde_json::json;

use super::*;
use crate::json_schema::Schema;

/// The steps that one rule of a schema takes, besides one for the schema and one for the rule.
fn cost(rule: &Value, payload: &Value) -> u32 {
    let schema = Schema::compile("schema", rule).unwrap();
    let mut run = Run {
        schema: &schema,
        steps: MAX_SCHEMA_STEPS,
        has_ended: false,
        faults: Vec::new(),
        quiet: 0,
        path: Vec::new(),
    };
    run.check(NodeId(0), payload, 0, &mut Evaluated::default());
    MAX_SCHEMA_STEPS - run.steps - 2
}

/// A text that takes this many times 64 bytes, each of which costs one step.
fn text(units: usize) -> String {
    "x".repeat(units * 64)
}

#[test]
fn a_name_costs_more_the_longer_it_is() {
    let empty = json!({});
    assert_eq!(cost(&json!({"required": ["x".repeat(63)]}), &empty), 1);
    assert_eq!(cost(&json!({"required": [text(1)]}), &empty), 2);
    assert_eq!(cost(&json!({"required": [text(10), "x"]}), &empty), 12);
    let needs = json!({"dependentRequired": {text(1): [text(2), "x"], "y": []}});
    assert_eq!(cost(&needs, &empty), 2 + 3 + 1 + 1);
    let needs = json!({"dependentSchemas": {text(3): true, "x": true}});
    assert_eq!(cost(&needs, &empty), 4 + 1);
    let properties = json!({"properties": {"a": true}});
    assert_eq!(cost(&properties, &json!({"b": 1, text(2): 1})), 1 + 3);
    assert_eq!(
        cost(&json!({"propertyNames": true}), &json!({text(2): 1})),
        3 + 1
    );
    let unevaluated = json!({"unevaluatedProperties": true});
    assert_eq!(cost(&unevaluated, &json!({text(2): 1})), 3 + 1);
}

#[test]
fn an_assertion_costs_what_it_compares() {
    assert_eq!(cost(&json!({"const": text(2)}), &json!(1)), 3);
    assert_eq!(
        cost(&json!({"enum": [text(1), 1, [1]]}), &json!(1)),
        2 + 1 + 2
    );
    assert_eq!(cost(&json!({"multipleOf": 2}), &json!(4)), 4);
    for free in [
        json!({"type": "null"}),
        json!({"minimum": 1}),
        json!({"pattern": "a"}),
        json!({"maxLength": 1}),
        json!({"uniqueItems": true}),
    ] {
        assert_eq!(cost(&free, &json!(null)), 0, "{free}");
    }
    assert_eq!(cost(&json!({"maxItems": 1}), &json!([text(9)])), 0);
    assert_eq!(cost(&json!({"maxLength": 1000}), &json!("x".repeat(63))), 0);
    assert_eq!(cost(&json!({"maxLength": 1000}), &json!(text(10))), 10);
}

#[test]
fn sorting_costs_each_item_once_per_binary_digit_of_their_count() {
    let unique = &json!({"uniqueItems": true});
    assert_eq!(cost(unique, &json!([])), 0);
    assert_eq!(cost(unique, &json!([1, 2, 3])), 4 * 2);
    assert_eq!(cost(unique, &json!([1, 2, 3, 4, 5, 6, 7, 8])), 9 * 4);
    assert_eq!(cost(unique, &json!([text(5), 2])), 8 * 2);
}
