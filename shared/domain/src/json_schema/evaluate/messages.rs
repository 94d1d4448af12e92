//! What a fault says: what the schema asks for, never what is there instead.

use serde_json::Value;

use crate::json_schema::rule::{Contains, Kind, Limit, Rule};

/// The most values of an `enum` that a message lists.
const MAX_VALUES: usize = 6;
/// The longest list of them, in characters.
const MAX_VALUES_CHARS: usize = 120;
/// The longest name of a property in a message, in characters.
const MAX_NAME_CHARS: usize = 60;

/// Of a rule about a value that does not hold.
pub(super) fn of(rule: &Rule, value: &Value) -> String {
    match rule {
        Rule::Type(kinds) => format!("must be {}", any_of(kinds.iter().map(|it| article(*it)))),
        Rule::Enum(values) => match listed(values) {
            Some(values) => format!("must be {values}"),
            None => format!("must be one of the {} values in `enum`", values.len()),
        },
        Rule::Const(one) => match listed(std::slice::from_ref(one)) {
            Some(value) => format!("must be {value}"),
            None => "must be the value in `const`".to_owned(),
        },
        Rule::MultipleOf(_, number) => format!("must be a multiple of {number}"),
        Rule::Bound(bound, limit) => format!("must be {} {limit}", bound.words()),
        Rule::Size(size, limit, count) => {
            let words = match limit {
                Limit::AtLeast => "at least",
                Limit::AtMost => "at most",
            };
            format!("must have {words} {count} {}", size.words(*count))
        }
        Rule::Pattern(pattern) => match pattern.shown() {
            Some(source) => format!("must match the pattern {source}"),
            None => "must match the pattern in `pattern`".to_owned(),
        },
        Rule::UniqueItems => "must not have the same item twice".to_owned(),
        Rule::Required(names) => needs(names, value),
        Rule::DependentRequired(dependent) => {
            let is_there = |name: &str| value.get(name).is_some();
            let names = dependent.iter().filter(|(name, _)| is_there(name));
            let names: Vec<String> = names.flat_map(|(_, names)| names.clone()).collect();
            needs(&names, value)
        }
        Rule::Ref(_)
        | Rule::AllOf(_)
        | Rule::AnyOf(_)
        | Rule::OneOf(_)
        | Rule::Not(_)
        | Rule::If(_)
        | Rule::DependentSchemas(_)
        | Rule::Items { .. }
        | Rule::Contains(_)
        | Rule::Properties(_)
        | Rule::PropertyNames(_)
        | Rule::UnevaluatedItems(_)
        | Rule::UnevaluatedProperties(_) => "does not match the schema".to_owned(),
    }
}

pub(super) fn contains(contains: Contains) -> String {
    let Contains { min, max, .. } = contains;
    let what = "that match `contains`";
    match max {
        Some(max) if min > 0 => format!("must have {min} to {max} items {what}"),
        Some(max) => format!("must have at most {max} items {what}"),
        None if min == 1 => "must have an item that matches `contains`".to_owned(),
        None => format!("must have at least {min} items {what}"),
    }
}

fn needs(names: &[String], value: &Value) -> String {
    let is_missing = |name: &&String| value.get(name.as_str()).is_none();
    let missing = names.iter().filter(is_missing);
    let missing: Vec<String> = missing
        .map(|name| match name.char_indices().nth(MAX_NAME_CHARS) {
            Some((end, _)) => format!("`{}…`", name.get(..end).unwrap_or_default()),
            None => format!("`{name}`"),
        })
        .take(MAX_VALUES)
        .collect();
    match missing.as_slice() {
        [one] => format!("needs the property {one}"),
        several => format!("needs the properties {}", several.join(", ")),
    }
}

fn any_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        all => all.join(", "),
    }
}

const fn article(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "true or false",
        Kind::Object => "an object",
        Kind::Array => "an array",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Integer => "an integer",
    }
}

/// Values of the schema, if they are few and short.
fn listed(values: &[Value]) -> Option<String> {
    if values.is_empty() || values.len() > MAX_VALUES {
        return None;
    }
    let texts: Vec<String> = values.iter().map(Value::to_string).collect();
    let list = any_of(texts.iter().map(String::as_str));
    (list.chars().count() <= MAX_VALUES_CHARS).then_some(list)
}
