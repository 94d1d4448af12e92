//! Reads along a partition or an index.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use postrider_ports::Result;

use super::DynamoStore;
use super::calls::Table;
use super::expression::{Condition, names, some};
use super::item::Item;
use super::tables::Index;
use crate::fault;

#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) items: Vec<Item>,
    /// Where to continue.
    pub(super) next: Option<Item>,
}

#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) table: Table,
    /// `None` for the table itself, which is then read with strong consistency.
    pub(super) index: Option<Index>,
    /// The condition on the keys, with `#name` and `:name`.
    pub(super) keys: Condition,
    pub(super) order: Order,
    pub(super) limit: Option<usize>,
    /// Where an earlier page ended.
    pub(super) after: Option<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Ascending,
    Descending,
}

impl DynamoStore {
    pub(super) async fn query(&self, query: Query) -> Result<Found> {
        let answer = self.query_call(query).send().await;
        let answer = answer.map_err(|error| fault::of(&error))?;
        Ok(Found {
            items: answer.items.unwrap_or_default(),
            next: answer.last_evaluated_key,
        })
    }

    /// Counts the items of one page, and says where to continue.
    pub(super) async fn count_page(&self, query: Query) -> Result<(u64, Option<Item>)> {
        let call = self.query_call(query).select(Select::Count);
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        let count = u64::try_from(answer.count).unwrap_or(0);
        Ok((count, answer.last_evaluated_key))
    }

    fn query_call(&self, query: Query) -> QueryFluentBuilder {
        let limit = query
            .limit
            .map(|limit| i32::try_from(limit).unwrap_or(i32::MAX));
        self.client
            .query()
            .table_name(self.table(query.table))
            .set_index_name(query.index.map(|index| index.name().to_owned()))
            .consistent_read(query.index.is_none())
            .set_expression_attribute_names(names(&[&query.keys.expression]))
            .set_expression_attribute_values(some(query.keys.values))
            .key_condition_expression(query.keys.expression)
            .scan_index_forward(query.order == Order::Ascending)
            .set_limit(limit)
            .set_exclusive_start_key(query.after)
    }

    /// Runs a query to its end.
    pub(super) async fn query_all(&self, mut query: Query) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        loop {
            let found = self.query(query.clone()).await?;
            items.extend(found.items);
            match found.next {
                Some(next) => query.after = Some(next),
                None => return Ok(items),
            }
        }
    }
}

impl Query {
    /// Every item of a partition.
    pub(super) fn partition(table: Table, pk: impl Into<String>) -> Self {
        let keys = Condition::new("#pk = :pk").with("pk", AttributeValue::S(pk.into()));
        Self {
            table,
            index: None,
            keys,
            order: Order::Ascending,
            limit: None,
            after: None,
        }
    }

    /// Every item of a partition whose sort key has this prefix.
    pub(super) fn prefix(table: Table, pk: impl Into<String>, prefix: &str) -> Self {
        let keys = Condition::new("#pk = :pk AND begins_with(#sk, :prefix)")
            .with("pk", AttributeValue::S(pk.into()))
            .with("prefix", AttributeValue::S(prefix.to_owned()));
        Self {
            keys,
            ..Self::partition(table, "")
        }
    }
}
