//! The conditions of a field: values and operators.

use std::fmt::Display;

use serde_json::{Map, Value};

use super::Compiler;
use crate::payload_filter::condition::{Condition, Test};
use crate::payload_filter::fold::Folded;
use crate::payload_filter::number::{Bound, Comparison, Range, compare};
use crate::payload_filter::wildcard::Wildcard;

const OPERATORS: &str = "must be a value or one of `prefix`, `suffix`, `anything-but`, `numeric`, `exists`, \
     `equals-ignore-case`, `wildcard` and `cidr`";

impl Compiler<'_> {
    pub(super) fn condition(&mut self, source: &Value, pointer: &str) -> Option<Condition> {
        self.conditions += 1;
        let map = match source {
            Value::Object(map) => map,
            Value::Array(_) => return self.fault(pointer, OPERATORS),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Some(Condition::Is(Test::Equals(source.clone())));
            }
        };
        let (operator, operand) = self.only(map, pointer, OPERATORS)?;
        let pointer = format!("{pointer}/{operator}");
        match (operator, operand) {
            ("exists", Value::Bool(true)) => Some(Condition::Exists),
            ("exists", Value::Bool(false)) => Some(Condition::Absent),
            ("exists", _) => self.fault(&pointer, "must be true or false"),
            ("anything-but", operand) => {
                self.excluded(operand, &pointer).map(Condition::AnythingBut)
            }
            ("numeric", operand) => self
                .range(operand, &pointer)
                .map(Test::Numeric)
                .map(Condition::Is),
            ("cidr", operand) => {
                let network = self.text(operand, &pointer)?.parse();
                let network = network.map_err(|_| "must be a network, such as 10.0.0.0/8");
                self.take(&pointer, network)
                    .map(Test::Cidr)
                    .map(Condition::Is)
            }
            ("prefix" | "suffix", Value::Object(map)) => self
                .affix_ignoring_case(operator, map, &pointer)
                .map(Condition::Is),
            (operator, operand) => self
                .text_test(operator, operand, &pointer)
                .map(Condition::Is),
        }
    }

    /// The operators that `anything-but` knows as well.
    fn text_test(&mut self, operator: &str, operand: &Value, pointer: &str) -> Option<Test> {
        match operator {
            "prefix" => self.text(operand, pointer).map(Test::Prefix),
            "suffix" => self.text(operand, pointer).map(Test::Suffix),
            "equals-ignore-case" => self
                .text(operand, pointer)
                .map(|text| Test::EqualsIgnoreCase(Folded::of(&text))),
            "wildcard" => {
                let parsed = Wildcard::parse(&self.text(operand, pointer)?);
                let wildcard = self.take(pointer, parsed)?;
                self.wildcards += wildcard.stars();
                Some(Test::Wildcard(wildcard))
            }
            _ => self.fault(pointer, "is not an operator that can be used here"),
        }
    }

    fn affix_ignoring_case(
        &mut self,
        operator: &str,
        map: &Map<String, Value>,
        pointer: &str,
    ) -> Option<Test> {
        const FORM: &str = "must be a string or {\"equals-ignore-case\": \"…\"}";
        let (inner, operand) = self.only(map, pointer, FORM)?;
        if inner != "equals-ignore-case" {
            return self.fault(pointer, FORM);
        }
        let folded = Folded::of(&self.text(operand, &format!("{pointer}/{inner}"))?);
        Some(match operator {
            "prefix" => Test::PrefixIgnoreCase(folded),
            _ => Test::SuffixIgnoreCase(folded),
        })
    }

    /// The operand of `anything-but`: a value, an operator, or a list for either.
    fn excluded(&mut self, operand: &Value, pointer: &str) -> Option<Vec<Test>> {
        if let Value::Object(map) = operand {
            return self.excluded_by_operator(map, pointer);
        }
        self.each(operand, pointer, |compiler, one, pointer| match one {
            Value::Array(_) | Value::Object(_) => compiler.fault(pointer, "must be a value"),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                Some(Test::Equals(one.clone()))
            }
        })
    }

    fn excluded_by_operator(
        &mut self,
        map: &Map<String, Value>,
        pointer: &str,
    ) -> Option<Vec<Test>> {
        const OPERATOR: &str =
            "must have one of `prefix`, `suffix`, `equals-ignore-case` and `wildcard`";
        let (operator, operand) = self.only(map, pointer, OPERATOR)?;
        let pointer = format!("{pointer}/{operator}");
        self.each(operand, &pointer, |compiler, one, pointer| {
            let test = compiler.text_test(operator, one, pointer)?;
            if matches!(&test, Test::Prefix(text) | Test::Suffix(text) if text.is_empty()) {
                return compiler.fault(pointer, "must not be empty: it would exclude every text");
            }
            Some(test)
        })
    }

    /// A list, or a single value as a list of one. The first value is counted with its condition.
    fn each(
        &mut self,
        operand: &Value,
        pointer: &str,
        mut compile: impl FnMut(&mut Self, &Value, &str) -> Option<Test>,
    ) -> Option<Vec<Test>> {
        let Value::Array(list) = operand else {
            return compile(self, operand, pointer).map(|test| vec![test]);
        };
        if list.is_empty() {
            return self.fault(pointer, "must have at least one value");
        }
        self.conditions += list.len() - 1;
        let tests: Vec<_> = list
            .iter()
            .enumerate()
            .map(|(n, one)| compile(self, one, &format!("{pointer}/{n}")))
            .collect();
        tests.into_iter().collect()
    }

    fn range(&mut self, operand: &Value, pointer: &str) -> Option<Range> {
        const FORM: &str = "must be like [\"=\", 5], [\"<\", 10] or [\">\", 0, \"<=\", 5]";
        let parts = operand.as_array().map_or(&[][..], Vec::as_slice);
        let bounds = match parts {
            [one, first] => [bound(one, first)].into_iter().collect(),
            [one, first, two, second] => {
                let bounds: Option<Vec<_>> = [bound(one, first), bound(two, second)]
                    .into_iter()
                    .collect();
                bounds.filter(|bounds| is_range(bounds))
            }
            _ => None,
        };
        match bounds {
            Some(bounds) => Some(Range { bounds }),
            None => self.fault(pointer, FORM),
        }
    }

    fn text(&mut self, operand: &Value, pointer: &str) -> Option<String> {
        match operand.as_str() {
            Some(text) => Some(text.to_owned()),
            None => self.fault(pointer, "must be a string"),
        }
    }

    fn take<T>(&mut self, pointer: &str, result: Result<T, impl Display>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => self.fault(pointer, error.to_string()),
        }
    }

    /// The only entry of an operator's object.
    fn only<'a>(
        &mut self,
        map: &'a Map<String, Value>,
        pointer: &str,
        form: &str,
    ) -> Option<(&'a str, &'a Value)> {
        let mut entries = map.iter();
        match (entries.next(), entries.next()) {
            (Some((name, operand)), None) => Some((name.as_str(), operand)),
            (None | Some(_), None | Some(_)) => self.fault(pointer, form),
        }
    }
}

fn bound(comparison: &Value, number: &Value) -> Option<Bound> {
    Some(Bound {
        comparison: Comparison::parse(comparison.as_str()?)?,
        number: number.as_number()?.clone(),
    })
}

/// A lower bound, then a larger upper one.
fn is_range(bounds: &[Bound]) -> bool {
    match bounds {
        [lower, upper] => {
            lower.comparison.is_lower_bound()
                && upper.comparison.is_upper_bound()
                && compare(&lower.number, &upper.number).is_some_and(std::cmp::Ordering::is_lt)
        }
        _ => false,
    }
}
