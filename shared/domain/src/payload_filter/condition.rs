//! What a single value of the payload is compared with.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::fold::Folded;
use super::number::{self, Range};
use super::wildcard::Wildcard;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Is(Test),
    /// There is a value and none of the tests holds for it.
    AnythingBut(Vec<Test>),
    Exists,
    Absent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Test {
    /// Not an array or object.
    Equals(Value),
    EqualsIgnoreCase(Folded),
    Prefix(String),
    PrefixIgnoreCase(Folded),
    Suffix(String),
    SuffixIgnoreCase(Folded),
    Wildcard(Wildcard),
    Numeric(Range),
    Cidr(IpNet),
}

impl Condition {
    /// Whether a value that is not an array or object fulfils it.
    pub(super) fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Is(test) => test.holds(value),
            Self::AnythingBut(tests) => !tests.iter().any(|test| test.holds(value)),
            Self::Exists => true,
            Self::Absent => false,
        }
    }

    pub(super) fn tests(&self) -> &[Test] {
        match self {
            Self::Is(test) => std::slice::from_ref(test),
            Self::AnythingBut(tests) => tests,
            Self::Exists | Self::Absent => &[],
        }
    }
}

impl Test {
    fn holds(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Equals(expected) => equals(expected, value),
            Self::EqualsIgnoreCase(folded) => text.is_some_and(|text| folded.equals(text)),
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix)),
            Self::PrefixIgnoreCase(folded) => text.is_some_and(|text| folded.starts(text)),
            Self::Suffix(suffix) => text.is_some_and(|text| text.ends_with(suffix)),
            Self::SuffixIgnoreCase(folded) => text.is_some_and(|text| folded.ends(text)),
            Self::Wildcard(wildcard) => text.is_some_and(|text| wildcard.matches(text)),
            Self::Numeric(range) => value.as_number().is_some_and(|n| range.contains(n)),
            Self::Cidr(network) => text
                .and_then(|text| text.parse::<IpAddr>().ok())
                .is_some_and(|address| network.contains(&address)),
        }
    }

    /// Whether it may read a text to its end. All others stop where the text differs.
    pub(super) const fn reads_all(&self) -> bool {
        match self {
            Self::Wildcard(_) => true,
            Self::Equals(_)
            | Self::EqualsIgnoreCase(_)
            | Self::Prefix(_)
            | Self::PrefixIgnoreCase(_)
            | Self::Suffix(_)
            | Self::SuffixIgnoreCase(_)
            | Self::Numeric(_)
            | Self::Cidr(_) => false,
        }
    }
}

fn equals(expected: &Value, value: &Value) -> bool {
    match (expected, value) {
        (Value::Number(expected), Value::Number(value)) => {
            number::compare(expected, value).is_some_and(std::cmp::Ordering::is_eq)
        }
        (expected, value) => expected == value,
    }
}
