//! The keywords of one schema object.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use super::super::decimal::Decimal;
use super::super::escaped;
use super::super::pattern::Pattern;
use super::super::rule::{Bound, Branches, Contains, Kind, NodeId, Properties, Rule, Size};
use super::Compiler;

/// How large all regular expressions of a schema may be when compiled.
const MAX_PATTERN_BYTES: usize = 128 * 1024;

/// The fields of a schema object and where it is.
#[derive(Clone, Copy)]
struct Fields<'a, 'p> {
    fields: &'a Map<String, Value>,
    pointer: &'p str,
}

impl<'a> Fields<'a, '_> {
    fn get(self, keyword: &str) -> Option<(&'a Value, String)> {
        let value = self.fields.get(keyword)?;
        Some((value, format!("{}/{keyword}", self.pointer)))
    }
}

impl<'a> Compiler<'a> {
    pub(super) fn rules(
        &mut self,
        id: NodeId,
        pointer: &str,
        fields: &'a Map<String, Value>,
    ) -> Vec<Rule> {
        let fields = Fields { fields, pointer };
        self.identity(id, fields);
        let mut rules = self.assertions(fields);
        rules.extend(self.in_place(fields));
        rules.extend(self.of_arrays(fields));
        rules.extend(self.of_objects(fields));
        // Last: they are about what the others have left.
        let unevaluated = self.one(fields, "unevaluatedItems");
        rules.extend(unevaluated.map(Rule::UnevaluatedItems));
        let unevaluated = self.one(fields, "unevaluatedProperties");
        rules.extend(unevaluated.map(Rule::UnevaluatedProperties));
        let is_unevaluated = |rule: &Rule| {
            matches!(
                rule,
                Rule::UnevaluatedItems(_) | Rule::UnevaluatedProperties(_)
            )
        };
        self.tracks |= rules.iter().any(is_unevaluated);
        rules
    }

    fn identity(&mut self, id: NodeId, fields: Fields<'a, '_>) {
        if let Some((_, pointer)) = fields.get("$id").filter(|_| !fields.pointer.is_empty()) {
            self.error(&pointer, "a schema may have an `$id` only at its root");
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            let Some((value, pointer)) = fields.get(keyword) else {
                continue;
            };
            match value.as_str() {
                Some(name) if !name.is_empty() && !name.starts_with('/') => {
                    let other = self.anchors.insert(name.to_owned(), id);
                    if other.is_some_and(|other| other != id) {
                        self.error(&pointer, "there is another anchor with this name");
                    }
                }
                Some(_) | None => self.error(&pointer, "must be a name"),
            }
        }
        // With one resource only, a dynamic reference leads where a plain one does.
        for keyword in ["$ref", "$dynamicRef"] {
            if let Some((target, pointer)) = fields.get(keyword) {
                self.refer(id, pointer, target);
            }
        }
        for keyword in ["$defs", "definitions"] {
            self.named(fields, keyword);
        }
    }

    fn assertions(&mut self, fields: Fields<'a, '_>) -> Vec<Rule> {
        let mut rules = Vec::new();
        rules.extend(self.kinds(fields));
        if let Some((values, pointer)) = fields.get("enum") {
            match values.as_array() {
                Some(values) => rules.push(Rule::Enum(values.clone())),
                None => self.error(&pointer, "must be a list of values"),
            }
        }
        if let Some((value, _)) = fields.get("const") {
            rules.push(Rule::Const(value.clone()));
        }
        if let Some((number, pointer)) = self.number(fields, "multipleOf") {
            match Decimal::of(&number) {
                Some(decimal) if number.as_f64() > Some(0.0) => {
                    rules.push(Rule::MultipleOf(decimal, number));
                }
                Some(_) | None => self.error(&pointer, "must be a number above 0"),
            }
        }
        for (keyword, bound) in Bound::ALL {
            let number = self.number(fields, keyword);
            rules.extend(number.map(|(number, _)| Rule::Bound(bound, number)));
        }
        for (keyword, size, limit) in Size::ALL {
            let count = self.count(fields, keyword);
            rules.extend(count.map(|count| Rule::Size(size, limit, count)));
        }
        if let Some((source, pointer)) = fields.get("pattern") {
            rules.extend(self.pattern(&pointer, source.as_str()).map(Rule::Pattern));
        }
        rules
    }

    fn in_place(&mut self, fields: Fields<'a, '_>) -> Vec<Rule> {
        let mut rules = Vec::new();
        rules.extend(self.several(fields, "allOf").map(Rule::AllOf));
        rules.extend(self.several(fields, "anyOf").map(Rule::AnyOf));
        rules.extend(self.several(fields, "oneOf").map(Rule::OneOf));
        rules.extend(self.one(fields, "not").map(Rule::Not));
        let (condition, then, otherwise) = (
            self.one(fields, "if"),
            self.one(fields, "then"),
            self.one(fields, "else"),
        );
        rules.extend(condition.map(|condition| {
            Rule::If(Branches {
                condition,
                then,
                otherwise,
            })
        }));
        let dependent = self.named(fields, "dependentSchemas");
        rules.extend(dependent.map(Rule::DependentSchemas));
        rules
    }

    fn of_arrays(&mut self, fields: Fields<'a, '_>) -> Vec<Rule> {
        let mut rules = Vec::new();
        let prefix = self.several(fields, "prefixItems").unwrap_or_default();
        let rest = self.one(fields, "items");
        if !prefix.is_empty() || rest.is_some() {
            rules.push(Rule::Items { prefix, rest });
        }
        let (min, max) = (
            self.count(fields, "minContains"),
            self.count(fields, "maxContains"),
        );
        if let Some(node) = self.one(fields, "contains") {
            let min = min.unwrap_or(1);
            rules.push(Rule::Contains(Contains { node, min, max }));
        }
        match fields.get("uniqueItems") {
            Some((Value::Bool(is_wanted), _)) => {
                rules.extend(is_wanted.then_some(Rule::UniqueItems));
            }
            Some((_, pointer)) => self.error(&pointer, "must be `true` or `false`"),
            None => {}
        }
        rules
    }

    fn of_objects(&mut self, fields: Fields<'a, '_>) -> Vec<Rule> {
        let mut rules = Vec::new();
        if let Some((names, pointer)) = fields.get("required") {
            rules.extend(self.names(&pointer, names).map(Rule::Required));
        }
        if let Some((needs, pointer)) = fields.get("dependentRequired") {
            rules.extend(self.dependent_required(&pointer, needs));
        }
        let named = self.named(fields, "properties");
        let patterns = self.patterns(fields);
        let additional = self.one(fields, "additionalProperties");
        if named.is_some() || !patterns.is_empty() || additional.is_some() {
            rules.push(Rule::Properties(Properties {
                named: named.unwrap_or_default(),
                patterns,
                additional,
            }));
        }
        let names = self.one(fields, "propertyNames");
        rules.extend(names.map(Rule::PropertyNames));
        rules
    }

    fn dependent_required(&mut self, pointer: &str, needs: &Value) -> Option<Rule> {
        let Some(needs) = needs.as_object() else {
            self.error(pointer, "must be an object");
            return None;
        };
        let mut all = BTreeMap::new();
        for (name, needed) in needs {
            let pointer = format!("{pointer}/{}", escaped(name));
            all.insert(name.clone(), self.names(&pointer, needed)?);
        }
        Some(Rule::DependentRequired(all))
    }

    fn patterns(&mut self, fields: Fields<'a, '_>) -> Vec<(Pattern, NodeId)> {
        let nodes = self.named(fields, "patternProperties").unwrap_or_default();
        let pointer = format!("{}/patternProperties", fields.pointer);
        let mut patterns = Vec::new();
        for (source, node) in nodes {
            let pointer = format!("{pointer}/{}", escaped(&source));
            let pattern = self.pattern(&pointer, Some(&source));
            patterns.extend(pattern.map(|pattern| (pattern, node)));
        }
        patterns
    }

    fn kinds(&mut self, fields: Fields<'a, '_>) -> Option<Rule> {
        let (value, pointer) = fields.get("type")?;
        let kind = |value: &Value| {
            let name = value.as_str();
            Kind::ALL
                .into_iter()
                .find(|kind| Some(kind.as_str()) == name)
        };
        let kinds: Option<Vec<Kind>> = match value {
            Value::Array(kinds) => kinds.iter().map(kind).collect(),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => kind(value).map(|kind| vec![kind]),
        };
        match kinds {
            Some(kinds) if kinds.iter().collect::<BTreeSet<_>>().len() < kinds.len() => {
                self.error(&pointer, "must not list a type twice");
                None
            }
            Some(kinds) if !kinds.is_empty() => Some(Rule::Type(kinds)),
            Some(_) | None => {
                let known = Kind::ALL.map(Kind::as_str).join(", ");
                self.error(
                    &pointer,
                    format!("must be one of {known}, or a list of them"),
                );
                None
            }
        }
    }

    fn pattern(&mut self, pointer: &str, source: Option<&str>) -> Option<Pattern> {
        let Some(source) = source else {
            self.error(pointer, "must be a regular expression, as text");
            return None;
        };
        if let Some(known) = self.patterns.get(source) {
            return Some(known.clone());
        }
        let compiled = match Pattern::new(source) {
            Ok(pattern) => pattern,
            Err(message) => {
                self.error(pointer, message);
                return None;
            }
        };
        let others = self.patterns.values().map(Pattern::bytes);
        if others.sum::<usize>() + compiled.bytes() > MAX_PATTERN_BYTES {
            let message = "makes the regular expressions of the schema too large together";
            self.error(pointer, message);
            return None;
        }
        self.patterns.insert(source.to_owned(), compiled.clone());
        Some(compiled)
    }

    fn number(&mut self, fields: Fields<'a, '_>, keyword: &str) -> Option<(Number, String)> {
        let (value, pointer) = fields.get(keyword)?;
        let number = value.as_number().cloned();
        if number.is_none() {
            self.error(&pointer, "must be a number");
        }
        Some((number?, pointer))
    }

    fn count(&mut self, fields: Fields<'a, '_>, keyword: &str) -> Option<u64> {
        let (value, pointer) = fields.get(keyword)?;
        let is_small = |number: &f64| number.fract() == 0.0 && (0.0..1e15).contains(number);
        let written_with_a_point = || {
            let number = value.as_f64().filter(is_small)?;
            format!("{number:.0}").parse().ok()
        };
        let count = value.as_u64().or_else(written_with_a_point);
        if count.is_none() {
            self.error(&pointer, "must be a whole number, at least 0");
        }
        count
    }

    fn names(&mut self, pointer: &str, names: &Value) -> Option<Vec<String>> {
        let all = names.as_array().map(|names| names.iter().map(name));
        let all: Option<Vec<String>> = all.and_then(Iterator::collect);
        if all.is_none() {
            self.error(pointer, "must be a list of names of properties");
        }
        all
    }

    fn one(&mut self, fields: Fields<'a, '_>, keyword: &str) -> Option<NodeId> {
        let (schema, pointer) = fields.get(keyword)?;
        Some(self.node(&pointer, schema))
    }

    fn several(&mut self, fields: Fields<'a, '_>, keyword: &str) -> Option<Vec<NodeId>> {
        let (schemas, pointer) = fields.get(keyword)?;
        let Some(schemas) = schemas.as_array().filter(|schemas| !schemas.is_empty()) else {
            self.error(&pointer, "must be a list of schemas, at least one");
            return None;
        };
        let nodes = schemas.iter().enumerate();
        let nodes = nodes.map(|(n, schema)| self.node(&format!("{pointer}/{n}"), schema));
        Some(nodes.collect())
    }

    fn named(&mut self, fields: Fields<'a, '_>, keyword: &str) -> Option<BTreeMap<String, NodeId>> {
        let (schemas, pointer) = fields.get(keyword)?;
        let Some(schemas) = schemas.as_object() else {
            self.error(&pointer, "must be an object whose values are schemas");
            return None;
        };
        let nodes = schemas.iter().map(|(name, schema)| {
            let pointer = format!("{pointer}/{}", escaped(name));
            (name.clone(), self.node(&pointer, schema))
        });
        Some(nodes.collect())
    }
}

fn name(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
