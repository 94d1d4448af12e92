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

    /// Returns how many were added one by one: those of the smaller set. `append` would rebuild the larger one each time.
    fn merge(&mut self, other: Self) -> usize {
        match (&mut *self, other) {
            (Self::All, _) => 0,
            (_, Self::All) => {
                *self = Self::All;
                0
            }
            (Self::Some(seen), Self::Some(more)) => {
                let mut sets = [std::mem::take(seen), more];
                sets.sort_by_key(BTreeSet::len);
                let [smaller, larger] = sets;
                let added = smaller.len();
                *seen = larger;
                seen.extend(smaller);
                added
            }
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

    /// Adds what another part looked at; returns what that cost, in steps.
    pub(super) fn merge(&mut self, other: Self) -> usize {
        self.properties.merge(other.properties) + self.items.merge(other.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(count: usize) -> Evaluated<'static> {
        let mut evaluated = Evaluated::default();
        (0..count).for_each(|index| evaluated.item(index));
        evaluated
    }

    #[test]
    fn merging_costs_what_the_smaller_part_has() {
        let mut many = items(1000);
        assert_eq!(many.merge(items(3)), 3);
        let mut few = items(3);
        assert_eq!(few.merge(items(1000)), 3);
        assert!(few.has_item(999) && !few.has_item(1000));
        few.all_items();
        assert_eq!(few.merge(items(1000)), 0);
        assert!(few.has_item(1000));
    }
}
