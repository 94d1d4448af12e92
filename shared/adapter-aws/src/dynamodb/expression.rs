//! Conditions on items and changes to them, as expressions with their names and values.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::calls::Table;
use super::keys::Key;

/// A condition on the stored item. Every `#name` in the expression refers to the attribute of that name.
#[derive(Clone, Debug, Default)]
pub(super) struct Condition {
    pub(super) expression: String,
    pub(super) values: HashMap<String, AttributeValue>,
}

impl Condition {
    pub(super) fn new(expression: &str) -> Self {
        Self {
            expression: expression.to_owned(),
            values: HashMap::new(),
        }
    }

    /// Sets the value of `:name`.
    #[must_use]
    pub(super) fn with(mut self, name: &str, value: AttributeValue) -> Self {
        self.values.insert(format!(":{name}"), value);
        self
    }
}

/// A change to one item, optionally conditional.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) table: Table,
    pub(super) key: Key,
    sets: Vec<String>,
    adds: Vec<String>,
    removes: Vec<String>,
    values: HashMap<String, AttributeValue>,
    condition: Condition,
}

impl Change {
    pub(super) fn of(table: Table, key: Key) -> Self {
        Self {
            table,
            key,
            sets: Vec::new(),
            adds: Vec::new(),
            removes: Vec::new(),
            values: HashMap::new(),
            condition: Condition::default(),
        }
    }

    #[must_use]
    pub(super) fn set(mut self, name: &str, value: AttributeValue) -> Self {
        self.sets.push(format!("#{name} = :set_{name}"));
        self.values.insert(format!(":set_{name}"), value);
        self
    }

    /// Sets the attribute, or removes it for `None`.
    #[must_use]
    pub(super) fn set_or_remove(self, name: &str, value: Option<AttributeValue>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self.remove(name),
        }
    }

    #[must_use]
    pub(super) fn remove(mut self, name: &str) -> Self {
        self.removes.push(format!("#{name}"));
        self
    }

    /// Adds to a number, starting at 0 if the attribute is missing.
    #[must_use]
    pub(super) fn add(mut self, name: &str, by: AttributeValue) -> Self {
        self.adds.push(format!("#{name} :add_{name}"));
        self.values.insert(format!(":add_{name}"), by);
        self
    }

    #[must_use]
    pub(super) fn only_if(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }

    /// The update expression and the condition, which carries the values of both.
    pub(super) fn into_parts(self) -> (String, Condition) {
        let expression = self.expression();
        let mut condition = self.condition;
        condition.values.extend(self.values);
        (expression, condition)
    }

    fn expression(&self) -> String {
        let clauses = [
            ("SET", &self.sets),
            ("ADD", &self.adds),
            ("REMOVE", &self.removes),
        ];
        let written = clauses
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(verb, parts)| format!("{verb} {}", parts.join(", ")));
        written.collect::<Vec<_>>().join(" ")
    }
}

/// Maps all `#name`s in the expressions. Every attribute is written this way, because many of the names are reserved
/// words.
pub(super) fn names(expressions: &[&str]) -> Option<HashMap<String, String>> {
    let mut names = HashMap::new();
    for expression in expressions {
        for part in expression.split('#').skip(1) {
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = part.get(..end.unwrap_or(part.len())).unwrap_or(part);
            names.insert(format!("#{name}"), name.to_owned());
        }
    }
    some(names)
}

/// `None` for an empty map, which AWS rejects.
pub(super) fn some<K, V>(map: HashMap<K, V>) -> Option<HashMap<K, V>> {
    (!map.is_empty()).then_some(map)
}

/// `None` for an empty expression, which AWS rejects.
pub(super) fn filled(expression: String) -> Option<String> {
    (!expression.is_empty()).then_some(expression)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_an_expression_is_found() {
        let found = names(&["SET #status = :s, #a19=:b", "NOT begins_with(#lane, :p)"]).unwrap();
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort();
        let named = |name: &str| (format!("#{name}"), name.to_owned());
        assert_eq!(found, ["a19", "lane", "status"].map(named));
        assert_eq!(names(&[""]), None);
    }
}
