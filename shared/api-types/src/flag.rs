//! Enums as flags of a command.

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::word::Vocabulary;

/// Reads one of the names of an enum.
#[must_use]
pub fn named<T: Vocabulary>() -> impl TypedValueParser<Value = T> {
    one_of(T::ALL)
}

/// Reads the name of one of these.
#[must_use]
pub fn one_of<T: Vocabulary>(allowed: &[T]) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(allowed.iter().map(|one| one.name()))
        .try_map(|name| T::from_name(&name).ok_or("must be one of the possible values"))
}
