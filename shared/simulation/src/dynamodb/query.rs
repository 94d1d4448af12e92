//! Queries of a table or an index, page by page.

use std::ops::Bound;

use serde_json::{Value, json};

use super::View;
use super::condition;
use super::keys::{Entry, Key};
use super::table::Table;
use super::tokens::Tokens;
use super::value::{self, TableItem};

/// The largest page.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// Runs a query. Its key condition begins with the partition key.
pub(crate) fn query(table: &mut Table, request: &Value, view: &mut dyn View) -> Value {
    let condition = request["KeyConditionExpression"]
        .as_str()
        .expect("a condition");
    let mut tokens = Tokens::of(condition, request);
    let hash_name = tokens.name();
    tokens.expect("=");
    let hash = value::text(tokens.value()).expect("a text");
    let start = request["ExclusiveStartKey"].as_object();
    let is_descending = request["ScanIndexForward"] == json!(false);
    let candidates: Vec<TableItem> = match request["IndexName"].as_str() {
        Some(name) => {
            let index = table.index(name);
            assert_eq!(
                index.schema.hash, hash_name,
                "the partition key comes first"
            );
            index.catch_up(view.now_ms());
            let start = start.and_then(|item| index.start(item));
            let is_after = |entry: &&Entry| match &start {
                Some(start) if is_descending => *entry < start,
                Some(start) => *entry > start,
                None => true,
            };
            let entries = index.partition(hash).filter(is_after);
            entries.map(|entry| index.item(entry)).collect()
        }
        None => {
            let start = start.map(Key::of);
            let is_after = |key: &Key| match &start {
                Some(start) if is_descending => key < start,
                Some(start) => key > start,
                None => true,
            };
            let first = Key {
                pk: hash.to_owned(),
                sk: String::new(),
            };
            let items = table
                .items
                .range((Bound::Included(first), Bound::Unbounded));
            let items = items.take_while(|(key, _)| key.pk == hash);
            let items = items.filter(|(key, _)| is_after(key));
            items.map(|(_, item)| item.clone()).collect()
        }
    };
    let matching = candidates
        .into_iter()
        .filter(|item| condition::holds(condition, request, item));
    let mut matching: Vec<TableItem> = matching.collect();
    if is_descending {
        matching.reverse();
    }
    page(matching, request, view)
}

fn page(matching: Vec<TableItem>, request: &Value, view: &mut dyn View) -> Value {
    let limit = request["Limit"]
        .as_u64()
        .and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.into_iter().chain(view.page_limit()).min();
    let (mut items, mut bytes, mut is_cut) = (Vec::new(), 0, false);
    for item in matching {
        if limit.is_some_and(|limit| items.len() >= limit) || bytes > MAX_PAGE_BYTES {
            is_cut = true;
            break;
        }
        bytes += value::size(&item);
        items.push(item);
    }
    // A page that is full names its end, even if nothing follows.
    is_cut |= limit.is_some_and(|limit| items.len() >= limit);
    let mut reply = json!({ "Count": items.len(), "ScannedCount": items.len() });
    if let Some(last) = items.last().filter(|_| is_cut) {
        let of_index = request["IndexName"].as_str().map(|_| last.clone());
        reply["LastEvaluatedKey"] = Value::Object(of_index.unwrap_or_else(|| Key::of(last).item()));
    }
    if request["Select"] != json!("COUNT") {
        reply["Items"] = items.into_iter().map(Value::Object).collect();
    }
    reply
}
