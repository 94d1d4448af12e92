//! Filters of webhooks and routes, and the payloads they are tried on.

use arbitrary::{Result, Unstructured};
use bytes::Bytes;
use postrider_domain::payload_filter::{Payload, PayloadFilter};
use serde_json::{Map, Value};

use super::Outcome;

const NAMES: [&str; 6] = ["a", "b", "$or", "", "/~", "ä"];
const OPERATORS: [&str; 8] = [
    "prefix",
    "suffix",
    "anything-but",
    "numeric",
    "exists",
    "equals-ignore-case",
    "wildcard",
    "cidr",
];
const TEXTS: [&str; 12] = [
    "",
    "a",
    "A*",
    "*a*b",
    "\\*",
    "10.0.0.0/8",
    "10.0.0.1",
    "::1",
    "=",
    "<",
    ">=",
    "İ",
];

/// A value, mostly one that filters use.
fn value(input: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match input.int_in_range(0..=6_u8)? {
        0 => Value::Null,
        1 => input.arbitrary::<bool>()?.into(),
        2 => input.arbitrary::<i64>()?.into(),
        // Of few digits: serde_json may read others back with another last digit.
        3 => (f64::from(input.arbitrary::<i32>()?) / 4.0).into(),
        4 => input.arbitrary::<&str>()?.into(),
        _ => (*input.choose(&TEXTS)?).into(),
    })
}

/// Seldom none.
fn few(input: &mut Unstructured<'_>) -> Result<u8> {
    Ok(match input.int_in_range(0..=7_u8)? {
        0 => 0,
        n => 1 + n % 3,
    })
}

fn list(
    input: &mut Unstructured<'_>,
    item: impl Fn(&mut Unstructured<'_>) -> Result<Value>,
) -> Result<Value> {
    let count = few(input)?;
    let items: Result<Vec<Value>> = (0..count).map(|_| item(input)).collect();
    items.map(Value::from)
}

fn object(
    input: &mut Unstructured<'_>,
    names: &[&str],
    item: impl Fn(&mut Unstructured<'_>) -> Result<Value>,
) -> Result<Value> {
    let count = few(input)?;
    let mut map = Map::new();
    for _ in 0..count {
        let name = (*input.choose(names)?).to_owned();
        map.insert(name, item(input)?);
    }
    Ok(map.into())
}

fn condition(input: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    match input.int_in_range(0..=7_u8)? {
        0..=3 => value(input),
        4 => list(input, value),
        5 if depth > 0 => object(input, &OPERATORS, |input| condition(input, depth - 1)),
        _ => Ok(serde_json::json!({*input.choose(&OPERATORS)?: value(input)?})),
    }
}

fn filter(input: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    object(input, &NAMES, |input| {
        match input.int_in_range(0..=4_u8)? {
            0 => value(input),
            1 if depth > 0 => filter(input, depth - 1),
            2 if depth > 0 => list(input, |input| filter(input, depth - 1)),
            _ => list(input, |input| condition(input, 2)),
        }
    })
}

fn payload(input: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    match input.int_in_range(0..=3_u8)? {
        0 if depth > 0 => list(input, |input| payload(input, depth - 1)),
        1 | 2 if depth > 0 => object(input, &NAMES, |input| payload(input, depth - 1)),
        _ => value(input),
    }
}

/// Compiles a filter and tries it on a payload, which may be anything.
///
/// # Panics
/// When a filter changes on its way through a store, or does not say why it does not match.
pub fn try_filter(input: &[u8]) -> Outcome {
    let mut input = Unstructured::new(input);
    let (Ok(source), Ok(body)) = (filter(&mut input, 12), payload(&mut input, 6)) else {
        return Outcome::Nothing;
    };
    let Ok(filter) = PayloadFilter::compile("filter", source.clone()) else {
        return Outcome::Rejected;
    };
    let stored = serde_json::to_string(&filter).expect("a filter is JSON");
    let read: PayloadFilter = serde_json::from_str(&stored).expect("a stored filter is read");
    assert_eq!(read, filter, "{source}");
    let rest = Bytes::copy_from_slice(input.take_rest());
    for payload in [Payload::from(&body), Payload::new(rest)] {
        let failed = filter.failed(&payload);
        assert_eq!(filter.matches(&payload), failed.is_empty(), "{source}");
        let is_there = |pointer: &String| source.pointer(pointer).is_some();
        assert!(failed.iter().all(is_there), "{source}: {failed:?}");
    }
    Outcome::Accepted
}
