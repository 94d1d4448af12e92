//! Which properties and items of a value rules have looked at, for `unevaluatedProperties` and `unevaluatedItems`.

use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Evaluated<'a> {
    properties: Seen<&'a str>,
    items: Seen<usize>,
}

#[derive(Debug)]
enum Seen<T> {
    All,
    Some(BTreeSet<T>),
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self::Some(BTreeSet::new())
    }
}

impl<T: Ord> Seen<T> {
    fn add(&mut self, one: T) {
        if let Self::Some(seen) = self {
            seen.insert(one);
        }
    }

    fn has(&self, one: &T) -> bool {
        match self {
            Self::All => true,
            Self::Some(seen) => seen.contains(one),
        }
    }

    fn merge(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Some(seen), Self::Some(mut more)) => seen.append(&mut more),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::All => 1,
            Self::Some(seen) => seen.len(),
        }
    }
}

impl<'a> Evaluated<'a> {
    pub(super) fn property(&mut self, name: &'a str) {
        self.properties.add(name);
    }

    pub(super) fn item(&mut self, index: usize) {
        self.items.add(index);
    }

    pub(super) fn all_properties(&mut self) {
        self.properties = Seen::All;
    }

    pub(super) fn all_items(&mut self) {
        self.items = Seen::All;
    }

    pub(super) fn has_property(&self, name: &str) -> bool {
        self.properties.has(&name)
    }

    pub(super) fn has_item(&self, index: usize) -> bool {
        self.items.has(&index)
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.properties.merge(other.properties);
        self.items.merge(other.items);
    }

    /// What merging this costs, in steps.
    pub(super) fn cost(&self) -> usize {
        self.properties.len() + self.items.len()
    }
}
