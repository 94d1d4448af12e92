use bytes::Bytes;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

use super::*;

fn filter(source: Value) -> PayloadFilter {
    PayloadFilter::compile("filter", source).unwrap()
}

fn matches(source: Value, payload: &Value) -> bool {
    filter(source).matches(&Payload::from(payload))
}

fn failed(source: Value, payload: &Value) -> Vec<String> {
    filter(source).failed(&Payload::from(payload))
}

fn messages(source: Value) -> Vec<String> {
    let faults = PayloadFilter::compile("filter", source)
        .unwrap_err()
        .into_fields();
    assert!(faults.iter().all(|fault| fault.field == "filter"));
    faults.into_iter().map(|fault| fault.message).collect()
}

#[test]
fn only_a_json_object_or_array_can_match() {
    let absent = filter(json!({"a": [{"exists": false}]}));
    let body = |text: &'static str| Payload::new(Bytes::from_static(text.as_bytes()));
    for text in ["", "hello", "{\"b\":", "5", "\"text\"", "null", "{} {}"] {
        assert!(!absent.matches(&body(text)), "{text}");
        assert_eq!(absent.failed(&body(text)).len(), 1, "{text}");
    }
    assert!(!absent.matches(&Payload::new(Bytes::from_static(&[0xff, 0xfe]))));
    for text in ["{}", " {\"b\": 1}\n", "[]", "[{\"b\": 1}]"] {
        assert!(absent.matches(&body(text)), "{text}");
    }
}

#[test]
fn whole_numbers_are_compared_exactly_and_others_by_value() {
    let id = json!({"id": [9_007_199_254_740_993_u64]});
    assert!(matches(
        id.clone(),
        &json!({"id": 9_007_199_254_740_993_u64})
    ));
    assert!(!matches(id, &json!({"id": 9_007_199_254_740_992_u64})));
    assert!(matches(json!({"n": [300]}), &json!({"n": 3.0e2})));
    assert!(!matches(json!({"n": [300]}), &json!({"n": "300"})));
    assert!(matches(
        json!({"n": [{"numeric": ["<", 0]}]}),
        &json!({"n": -1})
    ));
    assert!(matches(
        json!({"n": [{"anything-but": 5}]}),
        &json!({"n": "5"})
    ));
    assert!(!matches(
        json!({"n": [{"anything-but": 5}]}),
        &json!({"m": 1})
    ));
}

#[test]
fn an_object_of_an_array_must_fulfil_its_conditions_alone() {
    let source = json!({"items": {"sku": ["a"], "gift": [{"exists": false}]}});
    let one = json!({"items": [{"sku": "b"}, {"sku": "a", "gift": true}]});
    assert!(!matches(source.clone(), &one));
    assert_eq!(failed(source.clone(), &one), ["/items"]);
    assert!(matches(
        source,
        &json!({"items": [{"sku": "b", "gift": true}, {"sku": "a"}]})
    ));
}

#[test]
fn each_condition_that_fails_is_named() {
    let source = json!({
        "status": ["open"],
        "total": {"amount": [{"numeric": [">", 100]}], "currency": ["EUR"]},
        "a/b~c": [1],
        "$or": [{"country": ["DE"]}, {"vip": [true], "age": [{"numeric": [">", 17]}]}],
    });
    let payload = json!({"status": "open", "total": {"amount": 5, "currency": "EUR"}, "vip": true});
    let found = failed(source.clone(), &payload);
    assert_eq!(
        found,
        ["/a~1b~0c", "/total/amount", "/$or/0/country", "/$or/1/age"]
    );
    for pointer in &found {
        assert!(source.pointer(pointer).is_some(), "{pointer}");
    }
    let payload = json!({
        "status": ["new", "open"], "total": {"amount": 101, "currency": "EUR"}, "a/b~c": 1, "country": "DE",
    });
    assert_eq!(failed(source, &payload), [""; 0]);
}

#[test]
fn an_empty_array_has_no_fields() {
    let source = json!({"list": {"a": [{"exists": false}], "b": [1]}});
    assert_eq!(failed(source, &json!({"list": []})), ["/list/b"]);
}

#[test]
fn two_bounds_are_a_lower_and_a_larger_upper_one() {
    let numeric = |bounds: Value| json!({"n": [{"numeric": bounds}]});
    for bounds in [json!([">", 0, "<", 5]), json!([">=", 0, "<=", 5])] {
        assert!(matches(numeric(bounds), &json!({"n": 1})));
    }
    for bounds in [
        json!(["<", 5, ">", 0]),
        json!(["<", 0, "<", 5]),
        json!([">", 0, ">", 5]),
        json!(["=", 0, "<", 5]),
        json!([">", 0, "=", 5]),
        json!([">", 5, "<", 5]),
        json!([">", 6, "<", 5]),
    ] {
        let found = messages(numeric(bounds.clone()));
        assert_eq!(found.len(), 1, "{bounds}");
        assert!(found[0].ends_with("at /n/0/numeric"), "{bounds}: {found:?}");
    }
}

#[test]
fn errors_name_the_place_and_the_limit() {
    assert_eq!(
        messages(json!({"a": "x", "b": {"c": [{"prefix": 5}, {"regexp": "x"}]}, "$or": []})),
        [
            "must be an array of at least two patterns, at /$or",
            "must be an array of conditions, such as [\"open\"], or an object, at /a",
            "must be a string, at /b/c/0/prefix",
            "is not an operator that can be used here, at /b/c/1/regexp",
        ]
    );
    assert_eq!(
        messages(json!([])),
        ["must be a JSON object, such as {\"status\": [\"open\"]}"]
    );
    let long = |bytes: usize| {
        let rest = json!({"a": [""]}).to_string().len();
        json!({"a": ["x".repeat(bytes - rest)]})
    };
    assert!(PayloadFilter::compile("filter", long(MAX_FILTER_BYTES)).is_ok());
    assert_eq!(
        messages(long(MAX_FILTER_BYTES + 1)),
        ["must be at most 4096 bytes of JSON, without spaces"]
    );
}

#[test]
fn depth_conditions_and_wildcards_are_limited() {
    let nested = |depth| {
        let start = json!({"a": [1]});
        (1..depth).fold(start, |below, _| json!({ "a": below }))
    };
    assert!(PayloadFilter::compile("filter", nested(MAX_FILTER_DEPTH)).is_ok());
    let too_deep = messages(nested(MAX_FILTER_DEPTH + 1));
    assert_eq!(
        too_deep,
        [format!(
            "must be nested at most 10 levels deep, at {}",
            "/a".repeat(10)
        )]
    );
    let alternatives = |depth| {
        let start = json!({"a": [1]});
        (1..depth).fold(start, |below, _| json!({"$or": [below, {"b": [1]}]}))
    };
    assert!(PayloadFilter::compile("filter", alternatives(MAX_FILTER_DEPTH)).is_ok());
    let too_deep = messages(alternatives(MAX_FILTER_DEPTH + 1));
    assert!(too_deep[0].starts_with("must be nested at most 10 levels deep, at /$or/0"));

    let values = |count: usize| json!({"a": vec![1; count - 1], "b": [{"anything-but": 1}]});
    assert!(PayloadFilter::compile("filter", values(MAX_FILTER_CONDITIONS)).is_ok());
    assert_eq!(
        messages(values(MAX_FILTER_CONDITIONS + 1)),
        ["must have at most 100 conditions; every value counts, and this has 101"]
    );
    let excluded = |count: usize| json!({"a": [{"anything-but": vec![1; count]}]});
    assert!(PayloadFilter::compile("filter", excluded(MAX_FILTER_CONDITIONS)).is_ok());
    assert_eq!(messages(excluded(MAX_FILTER_CONDITIONS + 1)).len(), 1);

    let stars = |count: usize| json!({"a": [{"wildcard": "*a".repeat(count)}]});
    assert!(PayloadFilter::compile("filter", stars(MAX_FILTER_WILDCARDS)).is_ok());
    assert_eq!(
        messages(stars(MAX_FILTER_WILDCARDS + 1)),
        ["must have at most 20 `*` in its wildcards"]
    );
}

#[test]
fn a_payload_that_takes_too_much_work_does_not_match() {
    let mut conditions: Vec<_> = (0..50).map(|n| format!("no-{n}")).collect();
    conditions.push("last".to_owned());
    let wanted = json!({ "tags": conditions });
    let tags = |count: usize| {
        let mut tags = vec!["other"; count];
        tags.push("last");
        json!({ "tags": tags })
    };
    assert!(matches(wanted.clone(), &tags(5000)));
    assert!(!matches(wanted.clone(), &tags(50_000)));
    assert_eq!(failed(wanted, &tags(50_000)), ["/tags"]);

    let text = "a".repeat(1 << 20);
    let wildcards = json!({"text": [{"wildcard": "*a*a*a*a*a*b"}, {"wildcard": "*aa*a*ab*a*a"}]});
    assert!(!matches(wildcards, &json!({"text": vec![text; 3]})));
}

#[test]
fn a_stored_filter_is_read_as_it_was_written() {
    let source = json!({"a": [{"numeric": [">", 0.5]}, null, "x"]});
    let stored = serde_json::to_string(&filter(source.clone())).unwrap();
    let read: PayloadFilter = serde_json::from_str(&stored).unwrap();
    assert_eq!(*read.source(), source);
    assert_eq!(read, filter(source));
    assert!(serde_json::from_str::<PayloadFilter>("{\"a\": 1}").is_err());
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b"]).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abAB]{0,3}",
        select(vec!["10.0.0.1", "10.1.0.1", "::1", "a*b\\"]).prop_map(str::to_owned)
    ]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => text().prop_map(Value::from),
        3 => (-2..4_i64).prop_map(Value::from),
        1 => select(vec![0.0, 0.5, 2.0, -1.5]).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

fn object(below: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    btree_map(name(), below, 1..3).prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn payload() -> impl Strategy<Value = Value> {
    value().prop_recursive(4, 24, 4, |below| {
        prop_oneof![
            4 => value(),
            3 => btree_map(name(), below.clone(), 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
            1 => vec(below, 0..4).prop_map(Value::from),
        ]
    })
}

fn condition() -> impl Strategy<Value = Value> {
    let wildcard = select(vec![
        "*",
        "a*",
        "*b",
        "a*b*",
        "*a*B*",
        "ab",
        "a\\*b\\\\",
        "",
    ]);
    let wildcard = wildcard.prop_map(|text| json!({ "wildcard": text }));
    let number = -2..4_i64;
    let operator = select(vec!["=", "<", "<=", ">", ">="]);
    let network = select(vec!["10.0.0.0/16", "10.0.0.0/8", "::/64", "0.0.0.0/0"]);
    let exclusion = prop_oneof![
        value(),
        vec(value(), 1..4).prop_map(Value::from),
        vec("[abAB]{1,2}", 1..3).prop_map(|texts| json!({ "prefix": texts })),
        "[abAB]{1,2}".prop_map(|text| json!({ "suffix": text })),
        vec(text(), 1..3).prop_map(|texts| json!({ "equals-ignore-case": texts })),
        wildcard.clone(),
    ];
    prop_oneof![
        4 => value(),
        1 => text().prop_map(|text| json!({ "prefix": text })),
        1 => text().prop_map(|text| json!({ "suffix": text })),
        1 => text().prop_map(|text| json!({ "equals-ignore-case": text })),
        1 => text().prop_map(|text| json!({"prefix": {"equals-ignore-case": text}})),
        1 => text().prop_map(|text| json!({"suffix": {"equals-ignore-case": text}})),
        1 => wildcard,
        1 => (operator, number).prop_map(|(operator, number)| json!({"numeric": [operator, number]})),
        1 => (-2..1_i64).prop_map(|low| json!({"numeric": [">=", low, "<", low + 2]})),
        1 => network.prop_map(|network| json!({ "cidr": network })),
        1 => any::<bool>().prop_map(|exists| json!({ "exists": exists })),
        2 => exclusion.prop_map(|excluded| json!({ "anything-but": excluded })),
    ]
}

fn source() -> impl Strategy<Value = Value> {
    let conditions = vec(condition(), 1..4).prop_map(Value::from).boxed();
    object(conditions.clone()).prop_recursive(3, 12, 3, move |below| {
        let node = prop_oneof![conditions.clone(), below.clone()].boxed();
        prop_oneof![
            object(node.clone()),
            (object(node), vec(below, 2..4)).prop_map(|(mut fields, alternatives)| {
                fields["$or"] = alternatives.into();
                fields
            }),
        ]
    })
}

/// A payload that most likely matches: where there is a choice, `pick` chooses.
fn fitting(source: &Value, pick: usize) -> Map<String, Value> {
    let mut payload = Map::new();
    for (name, node) in source.as_object().unwrap() {
        let Some(choices) = node.as_array() else {
            payload.insert(name.clone(), fitting(node, pick).into());
            continue;
        };
        let chosen = &choices[pick % choices.len()];
        if name == "$or" {
            payload.extend(fitting(chosen, pick));
        } else {
            payload.extend(fitting_value(chosen).map(|value| (name.clone(), value)));
        }
    }
    payload
}

/// A value for one condition; none if it wants the field to be absent.
fn fitting_value(condition: &Value) -> Option<Value> {
    let Some((operator, wanted)) = condition.as_object().and_then(|map| map.iter().next()) else {
        return Some(condition.clone());
    };
    match (operator.as_str(), wanted) {
        ("exists", Value::Bool(wanted)) => wanted.then(|| json!(true)),
        ("numeric", Value::Array(bounds)) => {
            let bound = bounds[1].as_i64().unwrap();
            Some(match bounds[0].as_str().unwrap() {
                "<" => json!(bound - 1),
                ">" => json!(bound + 1),
                _ => json!(bound),
            })
        }
        ("cidr", network) if network == "::/64" => Some(json!("::1")),
        ("cidr", _) => Some(json!("10.0.0.1")),
        ("anything-but", _) => Some(json!("none of them")),
        ("wildcard", Value::String(text)) => {
            Some(json!(text.replace("\\\\", "\\").replace("\\*", "*")))
        }
        (_, Value::Object(_)) => fitting_value(wanted),
        (_, text) => Some(text.clone()),
    }
}

#[test]
fn a_compiled_filter_equals_a_naive_evaluation() {
    let config = Config {
        cases: 5000,
        failure_persistence: None,
        ..Config::default()
    };
    let counts = std::cell::Cell::new((0, 0));
    let inputs = source().prop_flat_map(|source| {
        let given = source.clone();
        let fitting = any::<usize>().prop_map(move |pick| fitting(&given, pick).into());
        let any = prop_oneof![9 => object(payload().boxed()), 1 => payload()];
        (Just(source), prop_oneof![2 => any, 1 => fitting])
    });
    let tried = TestRunner::new(config).run(&inputs, |(source, payload)| {
        let expected = naive::matches(&source, &payload);
        let filter = PayloadFilter::compile("filter", source.clone()).unwrap();
        let parsed = Payload::from(&payload);
        prop_assert_eq!(filter.matches(&parsed), expected);
        let failed = filter.failed(&parsed);
        prop_assert_eq!(failed.is_empty(), expected);
        prop_assert!(
            failed
                .iter()
                .all(|pointer| source.pointer(pointer).is_some())
        );
        let (matched, others) = counts.get();
        counts.set(if expected {
            (matched + 1, others)
        } else {
            (matched, others + 1)
        });
        Ok(())
    });
    tried.unwrap();
    let (matched, others) = counts.get();
    println!("{matched} matched, {others} did not");
    // About 1,400 match, with a standard deviation of 32.
    assert!(matched > 300 && others > 300, "{matched}, {others}");
}

proptest! {
    /// Any JSON may be submitted as a filter.
    #[test]
    fn a_filter_is_compiled_or_rejected(source in payload(), body in payload()) {
        if let Ok(filter) = PayloadFilter::compile("filter", source) {
            let _ = filter.failed(&Payload::from(&body));
        }
    }
}
