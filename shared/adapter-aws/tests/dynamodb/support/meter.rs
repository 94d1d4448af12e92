//! The capacity units that calls consume, as DynamoDB counts them.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_dynamodb::config::interceptors::{
    AfterDeserializationInterceptorContextRef, BeforeSerializationInterceptorContextMut,
};
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::batch_get_item::{BatchGetItemInput, BatchGetItemOutput};
use aws_sdk_dynamodb::operation::get_item::{GetItemInput, GetItemOutput};
use aws_sdk_dynamodb::operation::put_item::{PutItemInput, PutItemOutput};
use aws_sdk_dynamodb::operation::query::{QueryInput, QueryOutput};
use aws_sdk_dynamodb::operation::transact_write_items::{
    TransactWriteItemsInput, TransactWriteItemsOutput,
};
use aws_sdk_dynamodb::operation::update_item::{UpdateItemInput, UpdateItemOutput};
use aws_sdk_dynamodb::types::{ConsumedCapacity, ReturnConsumedCapacity};
use parking_lot::Mutex;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// Write units, including those of the indexes.
    pub(crate) writes: f64,
    pub(crate) reads: f64,
    /// How many queries found nothing and were counted with no units.
    pub(crate) empty_queries: f64,
    /// Write units per index.
    pub(crate) indexes: BTreeMap<String, f64>,
}

/// Counts the units of every call of a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<Mutex<Spent>>);

impl Meter {
    /// What was spent since the last call of this method.
    pub(crate) fn take(&self) -> Spent {
        std::mem::take(&mut *self.0.lock())
    }

    fn wrote(&self, capacity: Option<&ConsumedCapacity>) {
        let capacity = capacity.unwrap();
        let mut spent = self.0.lock();
        spent.writes += capacity.capacity_units().unwrap();
        for (index, units) in capacity.global_secondary_indexes().into_iter().flatten() {
            *spent.indexes.entry(index.clone()).or_default() += units.capacity_units().unwrap();
        }
    }

    fn read(&self, capacity: &[ConsumedCapacity]) {
        let units = capacity.iter().filter_map(ConsumedCapacity::capacity_units);
        self.0.lock().reads += units.sum::<f64>();
    }
}

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "Meter"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (input, all) = (context.input_mut(), Some(ReturnConsumedCapacity::Indexes));
        if let Some(put) = input.downcast_mut::<PutItemInput>() {
            put.return_consumed_capacity = all;
        } else if let Some(update) = input.downcast_mut::<UpdateItemInput>() {
            update.return_consumed_capacity = all;
        } else if let Some(get) = input.downcast_mut::<GetItemInput>() {
            get.return_consumed_capacity = all;
        } else if let Some(get) = input.downcast_mut::<BatchGetItemInput>() {
            get.return_consumed_capacity = all;
        } else if let Some(query) = input.downcast_mut::<QueryInput>() {
            query.return_consumed_capacity = all;
        } else if let Some(writes) = input.downcast_mut::<TransactWriteItemsInput>() {
            writes.return_consumed_capacity = all;
        } else {
            return Err(format!("not metered: {input:?}").into());
        }
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Ok(output) = context.output_or_error() else {
            return Ok(());
        };
        if let Some(put) = output.downcast_ref::<PutItemOutput>() {
            self.wrote(put.consumed_capacity());
        } else if let Some(update) = output.downcast_ref::<UpdateItemOutput>() {
            self.wrote(update.consumed_capacity());
        } else if let Some(get) = output.downcast_ref::<GetItemOutput>() {
            self.read(get.consumed_capacity.as_slice());
        } else if let Some(get) = output.downcast_ref::<BatchGetItemOutput>() {
            self.read(get.consumed_capacity());
        } else if let Some(query) = output.downcast_ref::<QueryOutput>() {
            let capacity = query.consumed_capacity.as_slice();
            self.read(capacity);
            let units = capacity.iter().filter_map(ConsumedCapacity::capacity_units);
            if units.sum::<f64>() == 0.0 {
                self.0.lock().empty_queries += 1.0;
            }
        } else if let Some(writes) = output.downcast_ref::<TransactWriteItemsOutput>() {
            for capacity in writes.consumed_capacity() {
                self.wrote(Some(capacity));
            }
        }
        Ok(())
    }
}
