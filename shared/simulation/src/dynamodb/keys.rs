//! Keys of items and of index entries.

use serde_json::{Value, json};

use super::value::{self, TableItem};

pub(crate) const PK: &str = "pk";
pub(crate) const SK: &str = "sk";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) pk: String,
    pub(crate) sk: String,
}

impl Key {
    pub(crate) fn of(item: &TableItem) -> Self {
        let part = |name| {
            value::text(&item[name])
                .expect("a key is a text")
                .to_owned()
        };
        Self {
            pk: part(PK),
            sk: part(SK),
        }
    }

    pub(crate) fn of_value(key: &Value) -> Self {
        Self::of(key.as_object().expect("a key"))
    }

    pub(crate) fn item(&self) -> TableItem {
        let mut item = TableItem::new();
        item.insert(PK.to_owned(), json!({ "S": self.pk }));
        item.insert(SK.to_owned(), json!({ "S": self.sk }));
        item
    }
}

/// An entry of an index, in its order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) hash: String,
    pub(crate) range: i128,
    pub(crate) key: Key,
}
