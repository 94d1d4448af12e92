//! The filters, tests and functions of templates. None returns more than it was charged for.

use std::cmp::Ordering;
use std::sync::Arc;

use minijinja::value::{DynObject, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::budget::Budget;
use super::output::{Escape, json, text};
use super::sandbox::{ADDEND, INDEX, NUMBER, TEXT, WEIGH};

pub(super) const RANGE: &str = "range";
/// The longest list that `range` returns.
const MAX_RANGE: i64 = 10_000;
const DEFAULT_TRUNCATION: usize = 255;

pub(super) const FILTERS: [&str; 21] = [
    "abs", "default", "first", "float", "int", "items", "join", "last", "length", "lower",
    "replace", "reverse", "round", "sort", "split", "string", "title", "tojson", "trim",
    "truncate", "upper",
];
pub(super) const TESTS: [&str; 8] = [
    "boolean",
    "defined",
    "mapping",
    "none",
    "number",
    "sequence",
    "string",
    "undefined",
];

pub(super) fn add(environment: &mut Environment<'_>, budget: &Arc<Budget>, escape: Escape) {
    add_guards(environment, budget);
    add_texts(environment, budget);
    add_numbers(environment);
    add_lists(environment, budget);
    environment.add_filter("default", default);
    environment.add_filter("tojson", move |value: &Value| {
        let text = json(value)?;
        Ok::<_, Error>(match escape {
            Escape::Json => Value::from_safe_string(text),
            Escape::Text | Escape::Query => Value::from(text),
        })
    });
    environment.add_function(RANGE, range);
    add_tests(environment);
}

/// What the operands of operators pass through.
fn add_guards(environment: &mut Environment<'_>, budget: &Arc<Budget>) {
    let scale = Arc::clone(budget);
    environment.add_filter(WEIGH, move |value: Value| {
        scale.weigh(&value).map(|()| value)
    });
    let scale = Arc::clone(budget);
    environment.add_filter(TEXT, move |value: &Value| {
        scale.weigh(value)?;
        text(value)
    });
    let scale = Arc::clone(budget);
    environment.add_filter(INDEX, move |value: Value| {
        scale.charge(value.as_str().map_or(0, str::len))?;
        Ok::<_, Error>(value)
    });
    let scale = Arc::clone(budget);
    environment.add_filter(ADDEND, move |value: Value| {
        if value.as_str().is_none() && !value.is_number() {
            return Err(mismatch("only numbers and texts can be added", &value));
        }
        scale.weigh(&value).map(|()| value)
    });
    environment.add_filter(NUMBER, |value: Value| {
        if value.is_number() {
            return Ok(value);
        }
        Err(mismatch("this operator needs numbers", &value))
    });
}

fn add_texts(environment: &mut Environment<'_>, budget: &Arc<Budget>) {
    environment.add_filter("string", |value: &Value| text(value));
    environment.add_filter("upper", |value: &Value| {
        Ok::<_, Error>(text(value)?.to_uppercase())
    });
    environment.add_filter("lower", |value: &Value| {
        Ok::<_, Error>(text(value)?.to_lowercase())
    });
    environment.add_filter("trim", |value: &Value| {
        Ok::<_, Error>(text(value)?.trim().to_owned())
    });
    environment.add_filter("title", |value: &Value| {
        Ok::<_, Error>(title(&text(value)?))
    });
    environment.add_filter("truncate", |value: &Value, length: Option<usize>| {
        let text = text(value)?;
        Ok::<_, Error>(truncated(&text, length.unwrap_or(DEFAULT_TRUNCATION)))
    });
    let scale = Arc::clone(budget);
    environment.add_filter("replace", move |value: &Value, from: &str, to: &str| {
        let text = text(value)?;
        let found = text.matches(from).count();
        scale.charge(found.saturating_mul(to.len()))?;
        Ok::<_, Error>(text.replace(from, to))
    });
    environment.add_filter("split", |value: &Value, separator: &str| {
        if separator.is_empty() {
            let message = "the separator must not be empty";
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        let text = text(value)?;
        Ok(text.split(separator).map(Value::from).collect::<Value>())
    });
}

fn add_numbers(environment: &mut Environment<'_>) {
    environment.add_filter("int", |value: &Value| match number(value) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a float beyond the integers becomes the nearest one"
        )]
        Some(number) => Ok(value.as_i64().unwrap_or(number as i64)),
        None => Err(mismatch("this filter needs a number", value)),
    });
    environment.add_filter("float", |value: &Value| {
        number(value).ok_or_else(|| mismatch("this filter needs a number", value))
    });
    environment.add_filter("abs", |value: &Value| match value.as_i64() {
        Some(number) => Ok(Value::from(number.saturating_abs())),
        None => number(value)
            .map(|number| Value::from(number.abs()))
            .ok_or_else(|| mismatch("this filter needs a number", value)),
    });
    environment.add_filter("round", |value: &Value, digits: Option<i32>| {
        let number = number(value).ok_or_else(|| mismatch("this filter needs a number", value))?;
        let scale = 10f64.powi(digits.unwrap_or(0).clamp(0, 15));
        Ok::<_, Error>((number * scale).round() / scale)
    });
}

fn add_lists(environment: &mut Environment<'_>, budget: &Arc<Budget>) {
    environment.add_filter("length", |value: &Value| {
        value
            .len()
            .ok_or_else(|| mismatch("this filter needs a text, a list or an object", value))
    });
    environment.add_filter("first", |value: &Value| {
        Ok::<_, Error>(value.try_iter()?.next().unwrap_or_default())
    });
    environment.add_filter("last", |value: &Value| {
        Ok::<_, Error>(value.try_iter()?.last().unwrap_or_default())
    });
    environment.add_filter("reverse", |value: &Value| {
        let items: Vec<Value> = value.try_iter()?.collect();
        Ok::<_, Error>(items.into_iter().rev().collect::<Value>())
    });
    environment.add_filter("items", |value: &Value| {
        let object = value.as_object().filter(|_| value.kind() == ValueKind::Map);
        let pairs = object.and_then(DynObject::try_iter_pairs);
        let pairs = pairs.ok_or_else(|| mismatch("this filter needs an object", value))?;
        Ok::<_, Error>(
            pairs
                .map(|(key, item)| Value::from(vec![key, item]))
                .collect::<Value>(),
        )
    });
    environment.add_filter("sort", |value: &Value| {
        let mut items: Vec<Value> = value.try_iter()?.collect();
        items.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        Ok::<_, Error>(Value::from(items))
    });
    let scale = Arc::clone(budget);
    environment.add_filter("join", move |value: &Value, separator: Option<&str>| {
        let separator = separator.unwrap_or_default();
        let mut joined = String::new();
        for (n, item) in value.try_iter()?.enumerate() {
            if n > 0 {
                scale.charge(separator.len())?;
                joined.push_str(separator);
            }
            joined.push_str(&text(&item)?);
        }
        Ok::<_, Error>(joined)
    });
}

fn add_tests(environment: &mut Environment<'_>) {
    environment.add_test("defined", |value: &Value| !value.is_undefined());
    environment.add_test("undefined", |value: &Value| value.is_undefined());
    environment.add_test("none", |value: &Value| value.is_none());
    environment.add_test("number", |value: &Value| value.is_number());
    for (name, kind) in [
        ("boolean", ValueKind::Bool),
        ("mapping", ValueKind::Map),
        ("sequence", ValueKind::Seq),
        ("string", ValueKind::String),
    ] {
        environment.add_test(name, move |value: &Value| value.kind() == kind);
    }
}

/// The other value for what is missing, and with `true` also for what is empty, as in Jinja.
fn default(value: Value, other: Option<Value>, also_empty: Option<bool>) -> Value {
    let is_missing = value.is_undefined() || value.is_none();
    if is_missing || (also_empty == Some(true) && !value.is_true()) {
        other.unwrap_or_else(|| Value::from(""))
    } else {
        value
    }
}

fn range(start: i64, stop: Option<i64>) -> Result<Value, Error> {
    let (start, stop) = stop.map_or((0, start), |stop| (start, stop));
    if stop.saturating_sub(start) > MAX_RANGE {
        let message = format!("`range` may count at most {MAX_RANGE} numbers");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok((start..stop).map(Value::from).collect())
}

fn number(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some(text) => text.trim().parse().ok(),
        None => f64::try_from(value.clone()).ok(),
    }
}

fn title(text: &str) -> String {
    let mut is_start = true;
    let mut titled = String::with_capacity(text.len());
    for one in text.chars() {
        if is_start {
            titled.extend(one.to_uppercase());
        } else {
            titled.extend(one.to_lowercase());
        }
        is_start = !one.is_alphanumeric();
    }
    titled
}

/// At most `length` characters, the last of which is `…` if something is missing.
fn truncated(text: &str, length: usize) -> String {
    if text.chars().nth(length).is_none() {
        return text.to_owned();
    }
    let kept = text.chars().take(length.saturating_sub(1));
    kept.chain("…".chars().take(length)).collect()
}

/// Names the kind of the value, never the value.
fn mismatch(message: &str, value: &Value) -> Error {
    let message = format!("{message}, not a value of type {}", value.kind());
    Error::new(ErrorKind::InvalidOperation, message)
}
