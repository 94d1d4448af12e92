//! The compiled form: nodes that refer to each other by position, each with its rules.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Number, Value};

use super::decimal::Decimal;
use super::pattern::Pattern;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) usize);

/// A schema or a part of it.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Anything,
    Nothing,
    /// In the order in which they are checked.
    Rules(Vec<Rule>),
}

#[derive(Clone, Debug)]
pub(super) enum Rule {
    Type(Vec<Kind>),
    Enum(Vec<Value>),
    Const(Value),
    MultipleOf(Decimal, Number),
    Bound(Bound, Number),
    Size(Size, Limit, u64),
    Pattern(Pattern),
    UniqueItems,
    Required(Vec<String>),
    DependentRequired(BTreeMap<String, Vec<String>>),
    Ref(NodeId),
    AllOf(Vec<NodeId>),
    AnyOf(Vec<NodeId>),
    OneOf(Vec<NodeId>),
    Not(NodeId),
    If(Branches),
    DependentSchemas(BTreeMap<String, NodeId>),
    Items {
        prefix: Vec<NodeId>,
        rest: Option<NodeId>,
    },
    Contains(Contains),
    Properties(Properties),
    PropertyNames(NodeId),
    UnevaluatedItems(NodeId),
    UnevaluatedProperties(NodeId),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Branches {
    pub(super) condition: NodeId,
    pub(super) then: Option<NodeId>,
    pub(super) otherwise: Option<NodeId>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Contains {
    pub(super) node: NodeId,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

#[derive(Clone, Debug)]
pub(super) struct Properties {
    pub(super) named: BTreeMap<String, NodeId>,
    pub(super) patterns: Vec<(Pattern, NodeId)>,
    pub(super) additional: Option<NodeId>,
}

impl Rule {
    /// The parts that are checked against the same value. A circle of them would never end.
    pub(super) fn in_place(&self) -> Vec<NodeId> {
        match self {
            Self::Ref(node) | Self::Not(node) => vec![*node],
            Self::AllOf(nodes) | Self::AnyOf(nodes) | Self::OneOf(nodes) => nodes.clone(),
            Self::If(branches) => {
                let rest = branches.then.into_iter().chain(branches.otherwise);
                std::iter::once(branches.condition).chain(rest).collect()
            }
            Self::DependentSchemas(nodes) => nodes.values().copied().collect(),
            Self::Type(_)
            | Self::Enum(_)
            | Self::Const(_)
            | Self::MultipleOf(..)
            | Self::Bound(..)
            | Self::Size(..)
            | Self::Pattern(_)
            | Self::UniqueItems
            | Self::Required(_)
            | Self::DependentRequired(_)
            | Self::Items { .. }
            | Self::Contains(_)
            | Self::Properties(_)
            | Self::PropertyNames(_)
            | Self::UnevaluatedItems(_)
            | Self::UnevaluatedProperties(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Null,
    Boolean,
    Object,
    Array,
    Number,
    String,
    Integer,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Null,
        Self::Boolean,
        Self::Object,
        Self::Array,
        Self::Number,
        Self::String,
        Self::Integer,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Number => "number",
            Self::String => "string",
            Self::Integer => "integer",
        }
    }

    pub(super) fn allows(self, value: &Value) -> bool {
        match self {
            Self::Null => value.is_null(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Number => value.is_number(),
            Self::String => value.is_string(),
            Self::Integer => value.as_number().is_some_and(is_whole),
        }
    }
}

/// 1.0 is an integer, too.
fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|it| it.fract() == 0.0)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

impl Bound {
    pub(super) const ALL: [(&'static str, Self); 4] = [
        ("minimum", Self::Minimum),
        ("exclusiveMinimum", Self::ExclusiveMinimum),
        ("maximum", Self::Maximum),
        ("exclusiveMaximum", Self::ExclusiveMaximum),
    ];

    pub(super) const fn allows(self, order: Ordering) -> bool {
        match self {
            Self::Minimum => order.is_ge(),
            Self::ExclusiveMinimum => order.is_gt(),
            Self::Maximum => order.is_le(),
            Self::ExclusiveMaximum => order.is_lt(),
        }
    }

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Minimum => "at least",
            Self::ExclusiveMinimum => "more than",
            Self::Maximum => "at most",
            Self::ExclusiveMaximum => "less than",
        }
    }
}

/// Of what there may be so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Characters,
    Items,
    Properties,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    AtLeast,
    AtMost,
}

impl Size {
    pub(super) const ALL: [(&'static str, Self, Limit); 6] = [
        ("minLength", Self::Characters, Limit::AtLeast),
        ("maxLength", Self::Characters, Limit::AtMost),
        ("minItems", Self::Items, Limit::AtLeast),
        ("maxItems", Self::Items, Limit::AtMost),
        ("minProperties", Self::Properties, Limit::AtLeast),
        ("maxProperties", Self::Properties, Limit::AtMost),
    ];

    /// `None` if the value has no such size.
    pub(super) fn of(self, value: &Value) -> Option<usize> {
        match (self, value) {
            (Self::Characters, Value::String(text)) => Some(text.chars().count()),
            (Self::Items, Value::Array(items)) => Some(items.len()),
            (Self::Properties, Value::Object(fields)) => Some(fields.len()),
            (Self::Characters | Self::Items | Self::Properties, _) => None,
        }
    }

    pub(super) const fn words(self, count: u64) -> &'static str {
        match (self, count) {
            (Self::Characters, 1) => "character",
            (Self::Characters, _) => "characters",
            (Self::Items, 1) => "item",
            (Self::Items, _) => "items",
            (Self::Properties, 1) => "property",
            (Self::Properties, _) => "properties",
        }
    }
}
