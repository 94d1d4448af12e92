//! Numbers of a payload: whole ones are compared exactly, because ids may exceed what a double can tell apart.

use std::cmp::Ordering;

use serde_json::Number;

pub(crate) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn whole(number: &Number) -> Option<i128> {
    let unsigned = number.as_u64().map(i128::from);
    unsigned.or_else(|| number.as_i64().map(i128::from))
}

/// `numeric`: one comparison, or a lower and an upper bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) bounds: Vec<Bound>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) comparison: Comparison,
    pub(super) number: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "=" => Some(Self::Equal),
            "<" => Some(Self::Less),
            "<=" => Some(Self::LessOrEqual),
            ">" => Some(Self::Greater),
            ">=" => Some(Self::GreaterOrEqual),
            _ => None,
        }
    }

    fn allows(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }

    pub(super) const fn is_lower_bound(self) -> bool {
        matches!(self, Self::Greater | Self::GreaterOrEqual)
    }

    pub(super) const fn is_upper_bound(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual)
    }
}

impl Range {
    pub(super) fn contains(&self, number: &Number) -> bool {
        self.bounds.iter().all(|bound| {
            compare(number, &bound.number).is_some_and(|ordering| bound.comparison.allows(ordering))
        })
    }
}
