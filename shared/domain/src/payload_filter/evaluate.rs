//! Walks a filter along a payload.

use serde_json::Value;

use super::condition::Condition;
use super::{Fields, MAX_FILTER_STEPS, Node};

/// How much text counts as one step.
const BYTES_PER_STEP: usize = 64;

/// One walk. Once its steps are used up, nothing matches.
pub(super) struct Evaluation {
    steps_left: u32,
}

impl Evaluation {
    pub(super) const fn new() -> Self {
        Self {
            steps_left: MAX_FILTER_STEPS,
        }
    }

    /// Whether the value, or an element of it if it is an array, has all these fields. A missing value has no fields.
    pub(super) fn fields_match(&mut self, fields: &Fields, value: Option<&Value>) -> bool {
        if !self.spend(1) {
            return false;
        }
        match value {
            Some(Value::Array(elements)) if !elements.is_empty() => elements
                .iter()
                .any(|element| self.fields_match(fields, Some(element))),
            _ => self.object_matches(fields, value),
        }
    }

    fn object_matches(&mut self, fields: &Fields, value: Option<&Value>) -> bool {
        let all = fields.fields.iter().all(|(name, node)| {
            let value = value.and_then(|value| value.get(name));
            match node {
                Node::Below(fields) => self.fields_match(fields, value),
                Node::Conditions(conditions) => self.one_holds(conditions, value),
            }
        });
        all && self.an_alternative_matches(fields, value)
    }

    pub(super) fn an_alternative_matches(
        &mut self,
        fields: &Fields,
        value: Option<&Value>,
    ) -> bool {
        let alternatives = &fields.alternatives;
        alternatives.is_empty()
            || alternatives
                .iter()
                .any(|fields| self.fields_match(fields, value))
    }

    /// Whether a condition holds for the value, or for an element of it if it is an array.
    pub(super) fn one_holds(&mut self, conditions: &[Condition], value: Option<&Value>) -> bool {
        let mut found = Found::Nothing;
        if let Some(value) = value {
            self.look(conditions, value, &mut found);
        }
        match found {
            Found::Match => true,
            Found::Values => false,
            Found::Nothing => self.spend(1) && conditions.contains(&Condition::Absent),
        }
    }

    fn look(&mut self, conditions: &[Condition], value: &Value, found: &mut Found) {
        match value {
            Value::Array(elements) => {
                for element in elements {
                    if *found == Found::Match || !self.spend(1) {
                        return;
                    }
                    self.look(conditions, element, found);
                }
            }
            // Conditions are about values; an object is none.
            Value::Object(_) => {}
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let holds = conditions
                    .iter()
                    .any(|condition| self.pay(condition, value) && condition.holds(value));
                *found = if holds { Found::Match } else { Found::Values };
            }
        }
    }

    fn pay(&mut self, condition: &Condition, value: &Value) -> bool {
        let reading = value.as_str().map_or(0, str::len) / BYTES_PER_STEP;
        let tests = condition.tests();
        let steps =
            1 + tests.len() + tests.iter().filter(|test| test.reads_all()).count() * reading;
        self.spend(u32::try_from(steps).unwrap_or(u32::MAX))
    }

    fn spend(&mut self, steps: u32) -> bool {
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                true
            }
            None => {
                self.steps_left = 0;
                false
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// Values, none of which matches.
    Values,
    Match,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::PayloadFilter;
    use super::*;

    /// The steps that the conditions of one field take, besides one for the object.
    fn cost(conditions: &Value, value: &Value) -> u32 {
        let filter = PayloadFilter::compile("filter", json!({"a": conditions})).unwrap();
        let mut evaluation = Evaluation::new();
        evaluation.fields_match(&filter.root, Some(&json!({"a": value})));
        MAX_FILTER_STEPS - evaluation.steps_left - 1
    }

    #[test]
    fn a_condition_costs_a_step_and_one_per_test_and_wildcards_read_the_text() {
        let text = |bytes: usize| json!("x".repeat(bytes));
        assert_eq!(cost(&json!([{"exists": true}]), &text(640)), 1);
        assert_eq!(cost(&json!(["y"]), &text(640)), 2);
        assert_eq!(cost(&json!(["y", {"prefix": "x"}, "z"]), &text(640)), 2 + 2);
        assert_eq!(
            cost(&json!([{"anything-but": [1, 2, 3]}]), &text(640)),
            1 + 3
        );
        assert_eq!(cost(&json!([{"wildcard": "*y"}]), &text(63)), 2);
        assert_eq!(cost(&json!([{"wildcard": "*y"}]), &text(64)), 2 + 1);
        let excluded = json!([{"anything-but": {"wildcard": ["*y", "*z"]}}]);
        assert_eq!(cost(&excluded, &text(640)), 1 + 2 + 2 * 10);
        assert_eq!(cost(&json!(["y"]), &json!([1, 2, 3])), 3 + 3 * 2);
    }
}
