//! An index that shows changes late. The old and the new entry of a row may both be visible for a while, or neither, but the
//! changes of one row arrive in order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use serde_json::json;

use super::View;
use super::keys::{Entry, Key};
use super::table::IndexSchema;
use super::value::{self, TableItem};

pub(crate) struct Index {
    pub(crate) schema: IndexSchema,
    entries: BTreeSet<Entry>,
    /// What is not visible yet, by the time at which it will be.
    pending: BTreeMap<(i64, u64), Pending>,
    /// When the last change of a row will be visible.
    last_due: BTreeMap<Key, i64>,
    changes: u64,
}

enum Pending {
    Added(Entry),
    Removed(Entry),
}

impl Index {
    pub(crate) fn new(schema: IndexSchema) -> Self {
        Self {
            schema,
            entries: BTreeSet::new(),
            pending: BTreeMap::new(),
            last_due: BTreeMap::new(),
            changes: 0,
        }
    }

    /// The entry of an item; `None` if the index does not contain it.
    fn entry(&self, item: &TableItem) -> Option<Entry> {
        Some(Entry {
            hash: value::text(item.get(self.schema.hash)?)?.to_owned(),
            range: value::number(item.get(self.schema.range)?)?,
            key: Key::of(item),
        })
    }

    pub(crate) fn item(&self, entry: &Entry) -> TableItem {
        let mut item = entry.key.item();
        item.insert(self.schema.hash.to_owned(), json!({ "S": entry.hash }));
        item.insert(self.schema.range.to_owned(), value::of_number(entry.range));
        item
    }

    /// The entry that an earlier page ended at.
    pub(crate) fn start(&self, item: &TableItem) -> Option<Entry> {
        self.entry(item)
    }

    pub(crate) fn change(
        &mut self,
        before: Option<&TableItem>,
        after: Option<&TableItem>,
        view: &mut dyn View,
    ) {
        let [old, new] = [before, after].map(|item| item.and_then(|item| self.entry(item)));
        if old == new {
            return;
        }
        let key = old.as_ref().or(new.as_ref()).map(|entry| entry.key.clone());
        let key = key.expect("one of them is an entry");
        let now = view.now_ms();
        let earliest = self.last_due.get(&key).copied().unwrap_or(now).max(now);
        let mut latest = earliest;
        for pending in [old.map(Pending::Removed), new.map(Pending::Added)] {
            let Some(pending) = pending else { continue };
            let due = earliest.max(now + view.index_lag_ms());
            latest = latest.max(due);
            self.changes += 1;
            self.pending.insert((due, self.changes), pending);
        }
        self.last_due.insert(key, latest);
    }

    /// Makes visible what is due.
    pub(crate) fn catch_up(&mut self, now_ms: i64) {
        while let Some(first) = self.pending.first_entry()
            && first.key().0 <= now_ms
        {
            match first.remove() {
                Pending::Added(entry) => self.entries.insert(entry),
                Pending::Removed(entry) => self.entries.remove(&entry),
            };
        }
    }

    /// The visible entries of a partition, ascending.
    pub(crate) fn partition<'a>(
        &'a self,
        hash: &str,
    ) -> impl DoubleEndedIterator<Item = &'a Entry> {
        let edge = |range| Entry {
            hash: hash.to_owned(),
            range,
            key: Key {
                pk: String::new(),
                sk: String::new(),
            },
        };
        let bounds = (
            Bound::Included(edge(i128::MIN)),
            Bound::Excluded(edge(i128::MAX)),
        );
        self.entries.range(bounds)
    }
}
