//! How large items and index entries are, as DynamoDB bills them.
//! <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// What DynamoDB adds to each item and each index entry.
const OVERHEAD: usize = 100;

/// The partition and sort key of each index.
const INDEXES: [(&str, &str); 5] = [
    ("lane", "next_retry_at"),
    ("recent", "created_at"),
    ("by_webhook", "created_at"),
    ("by_session", "created_at"),
    ("trouble", "created_at"),
];

type Item = HashMap<String, AttributeValue>;

pub(super) fn item_bytes(item: &Item) -> usize {
    OVERHEAD + attributes(item)
}

/// The bytes of the item's entries in all indexes, which have only keys.
pub(super) fn index_bytes(item: &Item) -> usize {
    let of = |name: &str| item.get(name).map_or(0, |of| name.len() + value(of));
    let entry = |(hash, range): &(&str, &str)| {
        OVERHEAD + ["pk", "sk", hash, range].map(of).iter().sum::<usize>()
    };
    let present = INDEXES.iter().filter(|(hash, _)| item.contains_key(*hash));
    present.map(entry).sum()
}

fn attributes(item: &Item) -> usize {
    let attributes = item.iter();
    attributes.map(|(name, of)| name.len() + value(of)).sum()
}

fn value(of: &AttributeValue) -> usize {
    match of {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(digits) => digits.len() / 2 + 2,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Bool(_) | AttributeValue::Null(_) => 1,
        AttributeValue::L(list) => 3 + list.iter().map(|of| 1 + value(of)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.len() + attributes(map),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Bs(_) | AttributeValue::Ns(_) | _ => panic!("not written by the store"),
    }
}
