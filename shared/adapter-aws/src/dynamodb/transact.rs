//! Several writes, all or nothing.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, Delete, Put, TransactWriteItem, Update};
use postrider_ports::{Error, Result};

use super::DynamoStore;
use super::calls::{ROUNDS, Table};
use super::expression::{Change, Condition, filled, names, some};
use super::item::Item;
use super::keys::Key;
use crate::fault;

#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Puts an item if the condition holds.
    Put(Table, Item, Option<Condition>),
    Change(Change),
    /// Deletes an item if the condition holds.
    Delete(Table, Key, Option<Condition>),
}

/// The result of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Transacted {
    /// Everything is written.
    Done,
    /// Nothing is written: the conditions of these steps, by index, did not hold.
    Conflicted(Vec<usize>),
}

impl DynamoStore {
    /// Runs all steps or none. Retries if it conflicts with another transaction.
    pub(super) async fn transact(&self, steps: &[Step]) -> Result<Transacted> {
        let items = steps
            .iter()
            .map(|step| self.step(step.clone()))
            .collect::<Result<Vec<_>>>()?;
        for round in 0..ROUNDS {
            let call = self.client.transact_write_items();
            let Err(error) = call.set_transact_items(Some(items.clone())).send().await else {
                return Ok(Transacted::Done);
            };
            let reasons = match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                    cancelled.cancellation_reasons()
                }
                Some(_) | None => return Err(fault::of(&error)),
            };
            let failed = with_code(reasons, "ConditionalCheckFailed");
            if !failed.is_empty() {
                return Ok(Transacted::Conflicted(failed));
            }
            if !with_code(reasons, "ValidationError").is_empty() {
                return Err(fault::of(&error));
            }
            self.pause(round).await;
        }
        Err(fault::contended("an item"))
    }

    fn step(&self, step: Step) -> Result<TransactWriteItem> {
        let broken = |error: BuildError| Error::Broken(error.to_string());
        let built = TransactWriteItem::builder();
        let built = match step {
            Step::Put(table, item, condition) => {
                let condition = condition.unwrap_or_default();
                let put = Put::builder()
                    .table_name(self.table(table))
                    .set_item(Some(item))
                    .set_expression_attribute_names(names(&[&condition.expression]))
                    .set_expression_attribute_values(some(condition.values))
                    .set_condition_expression(filled(condition.expression));
                built.put(put.build().map_err(broken)?)
            }
            Step::Change(change) => {
                let (table, key) = (change.table, change.key.item());
                let (expression, condition) = change.into_parts();
                let update = Update::builder()
                    .table_name(self.table(table))
                    .set_key(Some(key))
                    .set_expression_attribute_names(names(&[&expression, &condition.expression]))
                    .set_expression_attribute_values(some(condition.values))
                    .set_condition_expression(filled(condition.expression))
                    .update_expression(expression);
                built.update(update.build().map_err(broken)?)
            }
            Step::Delete(table, key, condition) => {
                let condition = condition.unwrap_or_default();
                let delete = Delete::builder()
                    .table_name(self.table(table))
                    .set_key(Some(key.item()))
                    .set_expression_attribute_names(names(&[&condition.expression]))
                    .set_expression_attribute_values(some(condition.values))
                    .set_condition_expression(filled(condition.expression));
                built.delete(delete.build().map_err(broken)?)
            }
        };
        Ok(built.build())
    }
}

/// The indexes of the steps that failed for this reason.
fn with_code(reasons: &[CancellationReason], code: &str) -> Vec<usize> {
    let places = reasons.iter().enumerate();
    places
        .filter(|(_, reason)| reason.code() == Some(code))
        .map(|(index, _)| index)
        .collect()
}
