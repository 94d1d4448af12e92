//! A table: items in the order of their keys, its indexes, and the changes for its stream.

use std::collections::BTreeMap;

use super::View;
use super::expiry::Expiry;
use super::index::Index;
use super::keys::Key;
use super::stream::ItemChange;
use super::value::{self, TableItem};

/// The largest item.
const MAX_ITEM_BYTES: usize = 400 * 1024;
/// For how long an eventually consistent read may show an item as it was.
const STALE_FOR_MS: i64 = 1000;

pub struct TableSchema {
    pub name: String,
    /// All of them contain keys only.
    pub indexes: Vec<IndexSchema>,
}

#[derive(Clone, Copy)]
pub struct IndexSchema {
    pub name: &'static str,
    /// The partition key, a text.
    pub hash: &'static str,
    /// The sort key, a number.
    pub range: &'static str,
}

/// The tables of the store, as the template declares them.
#[must_use]
pub fn schema(deliveries: &str, configs: &str) -> Vec<TableSchema> {
    let index = |name, hash, range| IndexSchema { name, hash, range };
    let indexes = vec![
        index("status-next_retry_at", "lane", "next_retry_at"),
        index("recent", "recent", "created_at"),
        index("by_webhook", "by_webhook", "created_at"),
        index("by_session", "by_session", "created_at"),
        index("trouble", "trouble", "created_at"),
    ];
    vec![
        TableSchema {
            name: deliveries.to_owned(),
            indexes,
        },
        TableSchema {
            name: configs.to_owned(),
            indexes: Vec::new(),
        },
    ]
}

pub(crate) struct Table {
    pub(crate) items: BTreeMap<Key, TableItem>,
    /// Items as they were before their last change, and when that was.
    before: BTreeMap<Key, (Option<TableItem>, i64)>,
    pub(crate) indexes: Vec<Index>,
    expiry: Expiry,
    changes: Vec<ItemChange>,
    numbered: u64,
}

impl Table {
    pub(crate) fn new(schema: TableSchema) -> Self {
        Self {
            items: BTreeMap::new(),
            before: BTreeMap::new(),
            indexes: schema.indexes.into_iter().map(Index::new).collect(),
            expiry: Expiry::default(),
            changes: Vec::new(),
            numbered: 0,
        }
    }

    /// Whether an item is too large to be stored.
    pub(crate) fn is_too_large(item: &TableItem) -> bool {
        value::size(item) > MAX_ITEM_BYTES
    }

    /// Replaces an item, or removes it.
    pub(crate) fn write(&mut self, key: Key, after: Option<TableItem>, view: &mut dyn View) {
        let before = match after.clone() {
            Some(item) => self.items.insert(key.clone(), item),
            None => self.items.remove(&key),
        };
        // The stream has no record of a write that changes nothing.
        if before == after {
            return;
        }
        for index in &mut self.indexes {
            index.change(before.as_ref(), after.as_ref(), view);
        }
        self.expiry.plan(&key, after.as_ref(), view);
        self.before.insert(key, (before.clone(), view.now_ms()));
        self.numbered += 1;
        self.changes.push(ItemChange {
            number: self.numbered,
            at_ms: view.now_ms(),
            before,
            after,
            is_expiry: false,
        });
    }

    /// Deletes what has expired, and returns when the next item is deleted.
    pub(crate) fn expire(&mut self, view: &mut dyn View) -> Option<i64> {
        while let Some(key) = self.expiry.due(view.now_ms()) {
            self.write(key, None, view);
            let deletion = self.changes.last_mut();
            deletion.expect("an item that expires exists").is_expiry = true;
        }
        self.expiry.next_ms()
    }

    /// An item as an eventually consistent read shows it.
    pub(crate) fn eventual(&self, key: &Key, view: &mut dyn View) -> Option<TableItem> {
        match self.before.get(key) {
            Some((item, at)) if at + STALE_FOR_MS > view.now_ms() && view.is_stale() => {
                item.clone()
            }
            Some(_) | None => self.items.get(key).cloned(),
        }
    }

    pub(crate) fn take_changes(&mut self) -> Vec<ItemChange> {
        std::mem::take(&mut self.changes)
    }

    pub(crate) fn index(&mut self, name: &str) -> &mut Index {
        let found = self
            .indexes
            .iter_mut()
            .find(|index| index.schema.name == name);
        found.unwrap_or_else(|| panic!("an unknown index: {name}"))
    }
}
