//! The few DynamoDB calls that everything else uses. Reads are strongly consistent unless the caller says otherwise; a
//! failed condition is a value, not an error.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::config::AsyncSleep;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::types::{KeysAndAttributes, ReturnValue};
use postrider_ports::{Error, Result};

use super::DynamoStore;
pub(super) use super::expression::{Change, Condition};
use super::expression::{filled, names, some};
use super::item::Item;
use super::keys::Key;
pub(super) use super::query::{Order, Query};
pub(super) use super::transact::{Step, Transacted};
use crate::fault;

/// The maximum number of keys in one BatchGetItem.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html>
const BATCH_KEYS: usize = 100;

/// How many times unprocessed keys and conflicting transactions are retried.
pub(super) const ROUNDS: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Table {
    /// Deliveries, and everything that changes often.
    Deliveries,
    /// Settings.
    Configs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consistency {
    Strong,
    /// Half the price. What it shows was true, but may not be anymore.
    Eventual,
}

impl DynamoStore {
    pub(super) fn table(&self, table: Table) -> &str {
        match table {
            Table::Deliveries => &self.tables.deliveries,
            Table::Configs => &self.tables.configs,
        }
    }

    /// One item, strongly consistent.
    pub(super) async fn get(&self, table: Table, key: &Key) -> Result<Option<Item>> {
        self.get_with(Consistency::Strong, table, key).await
    }

    pub(super) async fn get_with(
        &self,
        consistency: Consistency,
        table: Table,
        key: &Key,
    ) -> Result<Option<Item>> {
        let call = self.client.get_item().table_name(self.table(table));
        let is_strong = consistency == Consistency::Strong;
        let call = call.set_key(Some(key.item())).consistent_read(is_strong);
        let answer = call.send().await.map_err(|error| fault::of(&error))?;
        Ok(answer.item)
    }

    /// Many items, strongly consistent, in no particular order; missing ones are left out.
    pub(super) async fn get_all(&self, wanted: Vec<(Table, Key)>) -> Result<Vec<(Table, Item)>> {
        self.get_all_with(Consistency::Strong, wanted).await
    }

    pub(super) async fn get_all_with(
        &self,
        consistency: Consistency,
        wanted: Vec<(Table, Key)>,
    ) -> Result<Vec<(Table, Item)>> {
        let mut found = Vec::with_capacity(wanted.len());
        for chunk in wanted.chunks(BATCH_KEYS) {
            let mut left: HashMap<String, KeysAndAttributes> = HashMap::new();
            for table in [Table::Deliveries, Table::Configs] {
                let keys = chunk.iter().filter(|(of, _)| *of == table);
                let keys: Vec<_> = keys.map(|(_, key)| key.item()).collect();
                if !keys.is_empty() {
                    let asked = KeysAndAttributes::builder().set_keys(Some(keys));
                    let is_strong = consistency == Consistency::Strong;
                    let asked = asked.consistent_read(is_strong).build();
                    let asked = asked.map_err(|error| Error::Broken(error.to_string()))?;
                    left.insert(self.table(table).to_owned(), asked);
                }
            }
            self.drain(left, &mut found).await?;
        }
        Ok(found)
    }

    /// Repeats the call until no key is left unprocessed.
    async fn drain(
        &self,
        mut left: HashMap<String, KeysAndAttributes>,
        found: &mut Vec<(Table, Item)>,
    ) -> Result<()> {
        for round in 0..ROUNDS {
            let call = self.client.batch_get_item().set_request_items(Some(left));
            let answer = call.send().await.map_err(|error| fault::of(&error))?;
            for (name, items) in answer.responses.unwrap_or_default() {
                let table = if name == self.tables.configs {
                    Table::Configs
                } else {
                    Table::Deliveries
                };
                found.extend(items.into_iter().map(|item| (table, item)));
            }
            left = answer.unprocessed_keys.unwrap_or_default();
            if left.is_empty() {
                return Ok(());
            }
            self.pause(round).await;
        }
        Err(Error::Unavailable("aws: keys left unprocessed".to_owned()))
    }

    /// Puts an item if the condition holds. Returns whether it did.
    pub(super) async fn put(
        &self,
        table: Table,
        item: Item,
        condition: Option<Condition>,
    ) -> Result<bool> {
        let condition = condition.unwrap_or_default();
        let call = self
            .client
            .put_item()
            .table_name(self.table(table))
            .set_item(Some(item))
            .set_expression_attribute_names(names(&[&condition.expression]))
            .set_expression_attribute_values(some(condition.values))
            .set_condition_expression(filled(condition.expression));
        match call.send().await {
            Ok(_) => Ok(true),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(false)
            }
            Err(error) => Err(fault::of(&error)),
        }
    }

    /// Updates an item if the condition holds and returns it as updated; `None` if the condition does not hold.
    pub(super) async fn change(&self, change: Change) -> Result<Option<Item>> {
        self.update(change, ReturnValue::AllNew).await
    }

    /// Updates an item if the condition holds, without reading it: a role may allow only some of its attributes. Returns
    /// whether the condition held.
    pub(super) async fn alter(&self, change: Change) -> Result<bool> {
        let updated = self.update(change, ReturnValue::None).await?;
        Ok(updated.is_some())
    }

    async fn update(&self, change: Change, returned: ReturnValue) -> Result<Option<Item>> {
        let (table, key) = (change.table, change.key.item());
        let (expression, condition) = change.into_parts();
        let call = self
            .client
            .update_item()
            .table_name(self.table(table))
            .set_key(Some(key))
            .set_expression_attribute_names(names(&[&expression, &condition.expression]))
            .set_expression_attribute_values(some(condition.values))
            .set_condition_expression(filled(condition.expression))
            .update_expression(expression)
            .return_values(returned);
        match call.send().await {
            Ok(answer) => Ok(Some(answer.attributes.unwrap_or_default())),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(None)
            }
            Err(error) => Err(fault::of(&error)),
        }
    }

    /// Deletes an item if the condition holds; a missing item counts as deleted.
    pub(super) async fn remove(
        &self,
        table: Table,
        key: &Key,
        condition: Option<Condition>,
    ) -> Result<()> {
        let condition = condition.unwrap_or_default();
        let call = self
            .client
            .delete_item()
            .table_name(self.table(table))
            .set_key(Some(key.item()))
            .set_expression_attribute_names(names(&[&condition.expression]))
            .set_expression_attribute_values(some(condition.values))
            .set_condition_expression(filled(condition.expression));
        match call.send().await {
            Ok(_) => Ok(()),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(())
            }
            Err(error) => Err(fault::of(&error)),
        }
    }

    /// Waits a little longer each round, as the SDK does between its own retries.
    pub(super) async fn pause(&self, round: u32) {
        if let Some(sleep) = self.client.config().sleep_impl() {
            sleep.sleep(Duration::from_millis(20 << round)).await;
        }
    }
}
