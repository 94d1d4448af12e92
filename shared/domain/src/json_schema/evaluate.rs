//! Checks a payload against the rules, with a limit on the work.

mod messages;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::evaluated::Evaluated;
use super::rule::{Branches, Contains, Limit, Node, NodeId, Properties, Rule, Size};
use super::{
    MAX_EVALUATION_DEPTH, MAX_FAULTS, MAX_POINTER_CHARS, MAX_SCHEMA_STEPS, PayloadFault, Schema,
    escaped, ordering,
};
use crate::json_schema::decimal::Decimal;
use crate::payload_filter::compare_numbers;

pub(super) fn faults(schema: &Schema, value: &Value) -> Vec<PayloadFault> {
    let mut run = Run {
        schema,
        steps: MAX_SCHEMA_STEPS,
        has_ended: false,
        faults: Vec::new(),
        quiet: 0,
        path: Vec::new(),
    };
    run.check(NodeId(0), value, 0, &mut Evaluated::default());
    if run.has_ended {
        return vec![PayloadFault {
            pointer: String::new(),
            message: "takes too much work to check against the schema".to_owned(),
        }];
    }
    run.faults
}

struct Run<'a> {
    schema: &'a Schema,
    /// How many are left.
    steps: u32,
    /// There was too much work. What is returned from then on means nothing.
    has_ended: bool,
    faults: Vec<PayloadFault>,
    /// Above 0 while it only matters whether a part matches, not why.
    quiet: usize,
    path: Vec<Step<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Run<'a> {
    /// Takes steps; `false` if there are none left.
    fn spend(&mut self, steps: usize) -> bool {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        match self.steps.checked_sub(steps) {
            Some(left) => self.steps = left,
            None => self.has_ended = true,
        }
        !self.has_ended
    }

    /// Notes a fault here; always `false`.
    fn fault(&mut self, message: impl FnOnce() -> String) -> bool {
        if self.quiet == 0 && self.faults.len() < MAX_FAULTS {
            self.faults.push(PayloadFault {
                pointer: self.pointer(),
                message: message(),
            });
        }
        false
    }

    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.path {
            pointer.push('/');
            match step {
                Step::Name(name) => pointer.push_str(&escaped(name)),
                Step::Index(index) => pointer.push_str(&index.to_string()),
            }
        }
        match pointer.char_indices().nth(MAX_POINTER_CHARS) {
            Some((end, _)) => format!("{}…", pointer.get(..end).unwrap_or_default()),
            None => pointer,
        }
    }

    /// Whether another rule need not be checked, because the answer is known.
    fn is_enough(&self) -> bool {
        self.has_ended || self.quiet > 0 || self.faults.len() >= MAX_FAULTS
    }

    fn check(
        &mut self,
        id: NodeId,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        if depth > MAX_EVALUATION_DEPTH || !self.spend(1) {
            self.has_ended = true;
            return false;
        }
        let rules = match self.schema.nodes.get(id.0) {
            Some(Node::Anything) | None => return true,
            Some(Node::Nothing) => return self.fault(|| "is not allowed here".to_owned()),
            Some(Node::Rules(rules)) => rules,
        };
        let mut own = Evaluated::default();
        let mut is_valid = true;
        for rule in rules {
            if !self.spend(1) {
                return false;
            }
            is_valid &= self.rule(rule, value, depth + 1, &mut own);
            if !is_valid && self.is_enough() {
                return false;
            }
        }
        // Even if it does not match: that fault is reported, and what it describes is not unexpected.
        if self.schema.tracks {
            let added = seen.merge(own);
            self.spend(added);
        }
        is_valid
    }

    /// The same, without reporting faults.
    fn matches(
        &mut self,
        id: NodeId,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        self.quiet += 1;
        let is_valid = self.check(id, value, depth, seen);
        self.quiet -= 1;
        is_valid
    }

    /// Checks a value inside the current one.
    fn below(&mut self, step: Step<'a>, id: NodeId, value: &'a Value, depth: usize) -> bool {
        self.path.push(step);
        let is_valid = self.check(id, value, depth, &mut Evaluated::default());
        self.path.pop();
        is_valid
    }

    fn rule(
        &mut self,
        rule: &'a Rule,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        match rule {
            Rule::Ref(id) => self.check(*id, value, depth, seen),
            Rule::AllOf(ids) => self.all(ids, value, depth, seen),
            Rule::AnyOf(ids) => {
                self.count_matches(ids, value, depth, seen, Wanted::AtLeastOne) > 0
                    || self.fault(|| "matches none of the alternatives (`anyOf`)".to_owned())
            }
            Rule::OneOf(ids) => {
                match self.count_matches(ids, value, depth, seen, Wanted::ExactlyOne) {
                    0 => self.fault(|| "matches none of the alternatives (`oneOf`)".to_owned()),
                    1 => true,
                    _ => self
                        .fault(|| "matches more than one of the alternatives (`oneOf`)".to_owned()),
                }
            }
            Rule::Not(id) => {
                !self.matches(*id, value, depth, &mut Evaluated::default())
                    || self.fault(|| "matches what it must not match (`not`)".to_owned())
            }
            Rule::If(branches) => self.branch(*branches, value, depth, seen),
            Rule::DependentSchemas(nodes) => {
                if !self.spend(nodes.keys().map(|name| name_cost(name)).sum()) {
                    return false;
                }
                let fields = value.as_object();
                let is_there = |name: &str| fields.is_some_and(|it| it.contains_key(name));
                let nodes = nodes.iter().filter(|(name, _)| is_there(name));
                let nodes: Vec<NodeId> = nodes.map(|(_, id)| *id).collect();
                self.all(&nodes, value, depth, seen)
            }
            Rule::Items { prefix, rest } => self.items(prefix, *rest, value, depth, seen),
            Rule::Contains(contains) => self.contains(*contains, value, depth, seen),
            Rule::Properties(properties) => self.properties(properties, value, depth, seen),
            Rule::PropertyNames(id) => self.property_names(*id, value, depth),
            Rule::UnevaluatedItems(id) => self.unevaluated_items(*id, value, depth, seen),
            Rule::UnevaluatedProperties(id) => self.unevaluated_properties(*id, value, depth, seen),
            Rule::Type(_)
            | Rule::Enum(_)
            | Rule::Const(_)
            | Rule::MultipleOf(..)
            | Rule::Bound(..)
            | Rule::Size(..)
            | Rule::Pattern(_)
            | Rule::UniqueItems
            | Rule::Required(_)
            | Rule::DependentRequired(_) => {
                self.assertion(rule, value) || self.fault(|| messages::of(rule, value))
            }
        }
    }

    /// Whether a rule about the value itself holds.
    fn assertion(&mut self, rule: &Rule, value: &Value) -> bool {
        if !self.spend(assertion_cost(rule, value)) {
            return false;
        }
        match rule {
            Rule::Type(kinds) => kinds.iter().any(|kind| kind.allows(value)),
            Rule::Enum(values) => values.iter().any(|one| ordering::equal(one, value)),
            Rule::Const(one) => ordering::equal(one, value),
            Rule::MultipleOf(divisor, _) => {
                let number = value.as_number().and_then(Decimal::of);
                number.is_none_or(|number| number.is_multiple(*divisor))
            }
            Rule::Bound(bound, limit) => {
                let order = value.as_number().and_then(|it| compare_numbers(it, limit));
                order.is_none_or(|order| bound.allows(order))
            }
            Rule::Size(size, limit, count) => is_within(*size, *limit, *count, value),
            Rule::Pattern(pattern) => value.as_str().is_none_or(|text| pattern.matches(text)),
            Rule::UniqueItems => value.as_array().is_none_or(|items| are_unique(items)),
            Rule::Required(names) => {
                let fields = value.as_object();
                fields.is_none_or(|fields| names.iter().all(|name| fields.contains_key(name)))
            }
            Rule::DependentRequired(needs) => value.as_object().is_none_or(|fields| {
                let mut needs = needs.iter().filter(|(name, _)| fields.contains_key(*name));
                needs.all(|(_, names)| names.iter().all(|name| fields.contains_key(name)))
            }),
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
            | Rule::UnevaluatedProperties(_) => true,
        }
    }

    fn all(
        &mut self,
        ids: &[NodeId],
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let mut is_valid = true;
        for id in ids {
            is_valid &= self.check(*id, value, depth, seen);
            if !is_valid && self.is_enough() {
                return false;
            }
        }
        is_valid
    }

    /// How many match, as far as it matters.
    fn count_matches(
        &mut self,
        ids: &[NodeId],
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
        wanted: Wanted,
    ) -> usize {
        let mut count = 0;
        for id in ids {
            count += usize::from(self.matches(*id, value, depth, seen));
            let is_known = match wanted {
                // What the other alternatives look at counts as well.
                Wanted::AtLeastOne => count > 0 && !self.schema.tracks,
                Wanted::ExactlyOne => count > 1,
            };
            if is_known || self.has_ended {
                break;
            }
        }
        count
    }

    fn branch(
        &mut self,
        branches: Branches,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let next = if self.matches(branches.condition, value, depth, seen) {
            branches.then
        } else {
            branches.otherwise
        };
        next.is_none_or(|next| self.check(next, value, depth, seen))
    }

    fn items(
        &mut self,
        prefix: &[NodeId],
        rest: Option<NodeId>,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let Some(items) = value.as_array() else {
            return true;
        };
        let mut is_valid = true;
        for (index, item) in items.iter().enumerate() {
            let Some(id) = prefix.get(index).copied().or(rest) else {
                break;
            };
            if rest.is_none() {
                seen.item(index);
            }
            is_valid &= self.below(Step::Index(index), id, item, depth);
            if !is_valid && self.is_enough() {
                return false;
            }
        }
        if rest.is_some() {
            seen.all_items();
        }
        is_valid
    }

    fn contains(
        &mut self,
        contains: Contains,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let Some(items) = value.as_array() else {
            return true;
        };
        let mut count = 0_u64;
        for (index, item) in items.iter().enumerate() {
            if self.matches(contains.node, item, depth, &mut Evaluated::default()) {
                count += 1;
                if self.schema.tracks {
                    seen.item(index);
                }
            }
            if self.has_ended {
                return false;
            }
        }
        let fits = count >= contains.min && contains.max.is_none_or(|max| count <= max);
        fits || self.fault(|| messages::contains(contains))
    }

    fn properties(
        &mut self,
        properties: &'a Properties,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let Some(fields) = value.as_object() else {
            return true;
        };
        let mut is_valid = true;
        for (name, value) in fields {
            let mut is_known = false;
            if let Some(id) = properties.named.get(name) {
                is_known = true;
                is_valid &= self.below(Step::Name(name), *id, value, depth);
            }
            for (pattern, id) in &properties.patterns {
                if !self.spend(pattern.cost(name)) {
                    return false;
                }
                if pattern.matches(name) {
                    is_known = true;
                    is_valid &= self.below(Step::Name(name), *id, value, depth);
                }
            }
            if let Some(id) = properties.additional.filter(|_| !is_known) {
                is_known = true;
                is_valid &= self.below(Step::Name(name), id, value, depth);
            }
            if is_known && self.schema.tracks {
                seen.property(name);
            }
            if !self.spend(name_cost(name)) || (!is_valid && self.is_enough()) {
                return false;
            }
        }
        is_valid
    }

    fn property_names(&mut self, id: NodeId, value: &'a Value, depth: usize) -> bool {
        let Some(fields) = value.as_object() else {
            return true;
        };
        let mut is_valid = true;
        for name in fields.keys() {
            let fits = self.is_name(id, name, depth);
            if !fits {
                self.path.push(Step::Name(name));
                is_valid = self.fault(|| "has a name that is not allowed here".to_owned());
                self.path.pop();
            }
            if !is_valid && self.is_enough() {
                return false;
            }
        }
        is_valid
    }

    /// A name is checked as text of its own, which does not live as long as the payload.
    fn is_name(&mut self, id: NodeId, name: &str, depth: usize) -> bool {
        if !self.spend(name_cost(name)) {
            return false;
        }
        let name = Value::from(name);
        let mut run = Run {
            schema: self.schema,
            steps: self.steps,
            has_ended: self.has_ended,
            faults: Vec::new(),
            quiet: 1,
            path: Vec::new(),
        };
        let fits = run.check(id, &name, depth, &mut Evaluated::default());
        let (steps, has_ended) = (run.steps, run.has_ended);
        self.steps = steps;
        self.has_ended = has_ended;
        fits
    }

    fn unevaluated_items(
        &mut self,
        id: NodeId,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let Some(items) = value.as_array() else {
            return true;
        };
        let mut is_valid = true;
        for (index, item) in items.iter().enumerate() {
            if !self.spend(1) {
                return false;
            }
            if !seen.has_item(index) {
                is_valid &= self.below(Step::Index(index), id, item, depth);
            }
            if !is_valid && self.is_enough() {
                return false;
            }
        }
        seen.all_items();
        is_valid
    }

    fn unevaluated_properties(
        &mut self,
        id: NodeId,
        value: &'a Value,
        depth: usize,
        seen: &mut Evaluated<'a>,
    ) -> bool {
        let Some(fields) = value.as_object() else {
            return true;
        };
        let mut is_valid = true;
        for (name, value) in fields {
            if !self.spend(name_cost(name)) {
                return false;
            }
            if !seen.has_property(name) {
                is_valid &= self.below(Step::Name(name), id, value, depth);
            }
            if !is_valid && self.is_enough() {
                return false;
            }
        }
        seen.all_properties();
        is_valid
    }
}

#[derive(Clone, Copy)]
enum Wanted {
    AtLeastOne,
    ExactlyOne,
}

fn is_within(size: Size, limit: Limit, count: u64, value: &Value) -> bool {
    let Some(actual) = size.of(value).and_then(|it| u64::try_from(it).ok()) else {
        return true;
    };
    match limit {
        Limit::AtLeast => actual >= count,
        Limit::AtMost => actual <= count,
    }
}

fn are_unique(items: &[Value]) -> bool {
    let mut sorted: Vec<&Value> = items.iter().collect();
    sorted.sort_unstable_by(|a, b| ordering::compare(a, b));
    let pairs = sorted.iter().zip(sorted.iter().skip(1));
    !pairs.into_iter().any(|(a, b)| ordering::equal(a, b))
}

/// What copying or looking up a name costs, in steps. Names are up to as long as the payload.
const fn name_cost(name: &str) -> usize {
    1 + name.len() / 64
}

fn names_cost(names: &[String]) -> usize {
    names.iter().map(|name| name_cost(name)).sum()
}

/// What checking costs beyond the rule itself, in steps.
fn assertion_cost(rule: &Rule, value: &Value) -> usize {
    match rule {
        // A comparison ends where the values differ, so it costs no more than the smaller one.
        Rule::Enum(values) => values.iter().map(ordering::cost).sum(),
        Rule::Const(one) => ordering::cost(one),
        Rule::Pattern(pattern) => value.as_str().map_or(0, |text| pattern.cost(text)),
        Rule::Size(Size::Characters, ..) => value.as_str().map_or(0, |text| text.len() / 64),
        Rule::UniqueItems => {
            let items = value.as_array();
            // Sorting looks at each item as often as its count has digits.
            items.map_or(0, |items| {
                let digits = usize::BITS - items.len().leading_zeros();
                let digits = usize::try_from(digits).unwrap_or(usize::MAX);
                ordering::cost(value).saturating_mul(digits)
            })
        }
        Rule::Required(names) => names_cost(names),
        Rule::DependentRequired(needs) => {
            let needs = needs.iter();
            needs
                .map(|(name, names)| name_cost(name) + names_cost(names))
                .sum()
        }
        Rule::MultipleOf(..) => 4,
        Rule::Type(_)
        | Rule::Bound(..)
        | Rule::Size(..)
        | Rule::Ref(_)
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
        | Rule::UnevaluatedProperties(_) => 0,
    }
}
