//! Schemas of event types, and the payloads they are tried on.

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use postrider_domain::json_schema::{MAX_FAULTS, Schema, outline};
use postrider_domain::payload_filter::Payload;
use serde_json::{Map, Value, json};

use super::Outcome;

const NAMES: [&str; 5] = ["a", "b", "", "/~", "ä"];
const TEXTS: [&str; 6] = ["", "a", "aaaaaaaab", "ä", "10", "b/c"];
const PATTERNS: [&str; 7] = ["^a+$", "(a|aa)*b", "a{1,40}", "(", "[^a]", "\\d+", "(?=a)"];
const REFERENCES: [&str; 8] = [
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/properties/a",
    "#name",
    "#/allOf/0",
    "other.json",
    "#/%",
];
const KINDS: [&str; 8] = [
    "null", "boolean", "object", "array", "number", "string", "integer", "other",
];
const OF_ONE: [&str; 12] = [
    "not",
    "if",
    "then",
    "else",
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$comment",
    "default",
];
const OF_SEVERAL: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const OF_NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "dependentSchemas",
    "definitions",
];
const OF_NUMBERS: [&str; 10] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxItems",
    "minProperties",
    "minContains",
    "maxContains",
];

fn number(input: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match input.int_in_range(0..=3_u8)? {
        0 => input.arbitrary::<i64>()?.into(),
        1 => input.arbitrary::<f64>()?.into(),
        _ => input.int_in_range(0..=5_u8)?.into(),
    })
}

fn value(input: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    Ok(match input.int_in_range(0..=7_u8)? {
        0 => Value::Null,
        1 => input.arbitrary::<bool>()?.into(),
        2 => number(input)?,
        3 => input.arbitrary::<&str>()?.into(),
        4 if depth > 0 => {
            let count = input.int_in_range(0..=3_u8)?;
            let items: Result<Vec<Value>> = (0..count).map(|_| value(input, depth - 1)).collect();
            items?.into()
        }
        5 | 6 if depth > 0 => {
            let count = input.int_in_range(0..=3_u8)?;
            let mut fields = Map::new();
            for _ in 0..count {
                let name = (*input.choose(&NAMES)?).to_owned();
                fields.insert(name, value(input, depth - 1)?);
            }
            fields.into()
        }
        _ => (*input.choose(&TEXTS)?).into(),
    })
}

fn schema(input: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    if depth == 0 || input.int_in_range(0..=9_u8)? == 0 {
        return Ok(input.arbitrary::<bool>()?.into());
    }
    let mut fields = Map::new();
    for _ in 0..input.int_in_range(1..=3_u8)? {
        let (keyword, value) = keyword(input, depth - 1)?;
        fields.insert(keyword.to_owned(), value);
    }
    Ok(fields.into())
}

fn keyword(input: &mut Unstructured<'_>, depth: u8) -> Result<(&'static str, Value)> {
    Ok(match input.int_in_range(0..=12_u8)? {
        0 => ("type", (*input.choose(&KINDS)?).into()),
        1 => ("enum", json!([value(input, 2)?, value(input, 1)?])),
        2 => ("const", value(input, 2)?),
        3 => (*input.choose(&OF_NUMBERS)?, number(input)?),
        4 => ("pattern", (*input.choose(&PATTERNS)?).into()),
        5 => ("required", json!([*input.choose(&NAMES)?])),
        6 => ("$ref", (*input.choose(&REFERENCES)?).into()),
        7 => ("$anchor", "name".into()),
        8 => ("uniqueItems", input.arbitrary::<bool>()?.into()),
        9 => (*input.choose(&OF_ONE)?, schema(input, depth)?),
        10 => {
            let several = json!([schema(input, depth)?, schema(input, depth)?]);
            (*input.choose(&OF_SEVERAL)?, several)
        }
        _ => {
            let mut named = Map::new();
            for _ in 0..input.int_in_range(1..=3_u8)? {
                let name = (*input.choose(&NAMES)?).to_owned();
                named.insert(name, schema(input, depth)?);
            }
            (*input.choose(&OF_NAMED)?, named.into())
        }
    })
}

/// Compiles a schema and checks a payload against it, which may be anything.
///
/// # Panics
/// When the number of faults has no limit, or a fault is not in the payload.
pub fn try_schema(input: &[u8]) -> Outcome {
    let mut input = Unstructured::new(input);
    let (Ok(source), Ok(body)) = (schema(&mut input, 6), value(&mut input, 6)) else {
        return Outcome::Nothing;
    };
    assert!(outline(&source).len() <= 200, "{source}");
    let compiled = match Schema::compile("schema", &source) {
        Ok(compiled) => compiled,
        Err(errors) => {
            let count = errors.into_fields().len();
            assert!((1..=MAX_FAULTS).contains(&count), "{source}");
            return Outcome::Rejected;
        }
    };
    let faults = compiled.faults_of(&body);
    assert!(faults.len() <= MAX_FAULTS, "{source}");
    for fault in &faults {
        let is_there = body.pointer(&fault.pointer).is_some();
        assert!(
            is_there || fault.pointer.ends_with('…'),
            "{source}: {fault:?}"
        );
    }
    assert_eq!(compiled.faults_of(&body), faults, "{source}");
    let rest = Bytes::copy_from_slice(input.take_rest());
    let _ = compiled.faults(&Payload::new(rest));
    Outcome::Accepted
}
