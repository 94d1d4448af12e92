//! A second, simple evaluator that reads the filter as it was written. Tests compare the compiled filter with it.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

pub(super) fn matches(filter: &Value, payload: &Value) -> bool {
    (payload.is_object() || payload.is_array()) && fields(filter, Some(payload))
}

fn fields(filter: &Value, value: Option<&Value>) -> bool {
    let filter = filter.as_object().unwrap();
    spread(value).into_iter().any(|one| {
        filter.iter().all(|(name, below)| {
            let value = one.and_then(|one| one.get(name));
            match below.as_array() {
                Some(alternatives) if name == "$or" => {
                    alternatives.iter().any(|fields_of| fields(fields_of, one))
                }
                Some(conditions) => conditions.iter().any(|one| condition(one, value)),
                None => fields(below, value),
            }
        })
    })
}

/// The elements of an array, at any depth, or the value itself.
fn spread(value: Option<&Value>) -> Vec<Option<&Value>> {
    match value.and_then(Value::as_array) {
        Some(elements) if !elements.is_empty() => {
            elements.iter().flat_map(|one| spread(Some(one))).collect()
        }
        _ => vec![value],
    }
}

fn condition(condition: &Value, value: Option<&Value>) -> bool {
    let is_value = |value: &&Value| !value.is_object() && !value.is_array();
    let mut values = spread(value).into_iter().flatten().filter(is_value);
    let operator = condition.as_object().and_then(|map| map.iter().next());
    match operator {
        None => values.any(|value| equal(condition, value)),
        Some((name, wanted)) if name == "exists" => {
            values.next().is_some() == wanted.as_bool().unwrap()
        }
        Some((name, excluded)) if name == "anything-but" => {
            values.any(|value| !any_excluded(excluded, value))
        }
        Some((name, operand)) => values.any(|value| test(name, operand, value)),
    }
}

fn any_excluded(excluded: &Value, value: &Value) -> bool {
    match excluded.as_object() {
        Some(map) => map
            .iter()
            .any(|(name, operand)| list(operand).iter().any(|one| test(name, one, value))),
        None => list(excluded).iter().any(|one| equal(one, value)),
    }
}

fn list(operand: &Value) -> &[Value] {
    operand
        .as_array()
        .map_or(std::slice::from_ref(operand), Vec::as_slice)
}

fn test(operator: &str, operand: &Value, value: &Value) -> bool {
    if operator == "numeric" {
        return value.as_f64().is_some_and(|n| numeric(operand, n));
    }
    let Some(text) = value.as_str() else {
        return false;
    };
    if let Some(inner) = operand.get("equals-ignore-case") {
        return test(
            operator,
            &lower(inner.as_str().unwrap()).into(),
            &lower(text).into(),
        );
    }
    let operand = operand.as_str().unwrap();
    match operator {
        "prefix" => text.starts_with(operand),
        "suffix" => text.ends_with(operand),
        "equals-ignore-case" => lower(text) == lower(operand),
        "wildcard" => {
            let (pattern, text): (Vec<_>, Vec<_>) =
                (operand.chars().collect(), text.chars().collect());
            wildcard(&pattern, &text)
        }
        "cidr" => {
            let network: IpNet = operand.parse().unwrap();
            text.parse().is_ok_and(|address: IpAddr| {
                IpNet::new(address, network.prefix_len())
                    .is_ok_and(|own| own.trunc() == network.trunc())
            })
        }
        other => panic!("{other} is not an operator"),
    }
}

fn numeric(operand: &Value, n: f64) -> bool {
    operand.as_array().unwrap().chunks(2).all(|bound| {
        let limit = bound[1].as_f64().unwrap();
        match bound[0].as_str().unwrap() {
            "<" => n < limit,
            "<=" => n <= limit,
            ">" => n > limit,
            ">=" => n >= limit,
            _ => n == limit,
        }
    })
}

fn equal(expected: &Value, value: &Value) -> bool {
    match (expected.as_f64(), value.as_f64()) {
        (Some(expected), Some(value)) => expected == value,
        _ => expected == value,
    }
}

fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn wildcard(pattern: &[char], text: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|n| wildcard(rest, &text[n..])),
        ['\\', literal, rest @ ..] | [literal, rest @ ..] => {
            text.first() == Some(literal) && wildcard(rest, &text[1..])
        }
    }
}
