//! The store on AWS: two DynamoDB tables, written by single conditional writes, so that any number of functions may work
//! on them at once and a crash between two writes is completed by repeating the call.
//!
//! The tests run on Amazon's DynamoDB Local. What it does not enforce, and what stands in for it: indexes lag (nothing
//! here relies on an index being up to date: rows are read again by key, strongly consistent, before they are changed),
//! throttling and lost answers (the tests fail calls on their way), and the old item of a failed condition, which is
//! therefore never asked for: a strongly consistent read follows instead.

mod accept;
mod api_keys;
mod apply;
mod attempts;
mod backlog;
mod calls;
mod chores;
mod claim;
mod datakeys;
mod deleted_webhooks;
mod deliveries;
mod done;
mod event;
mod expression;
mod finished;
mod follow;
mod history;
mod hourly;
mod interventions;
mod item;
mod jobs;
mod keys;
mod listing;
mod merge;
mod notifications;
mod pace;
mod packed;
mod probes;
mod query;
mod rejected;
mod release;
mod row;
mod sealing;
mod sent_log;
mod signature;
mod sources;
mod state;
mod stats;
mod stream;
mod tables;
mod transact;
mod webhook_item;
mod webhooks;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use postrider_domain::retention::Retention;

pub use datakeys::DataKeys;
pub use follow::Follower;
pub use stream::{Image, Record};
pub use tables::Tables;

/// Over how many shards each index is spread, unless somebody says otherwise.
pub const DEFAULT_SHARDS: u16 = 16;

/// What a store is told about its surroundings.
#[derive(Clone, Debug)]
pub struct DynamoOptions {
    /// The tables.
    pub tables: Tables,
    /// Over how many shards each index is spread. May grow, never shrink: what lies in the last shards would not be
    /// found any more.
    pub shards: u16,
    /// How long rows are kept.
    pub retention: Retention,
}

/// Everything that the gateway stores on AWS.
pub struct DynamoStore {
    client: Client,
    tables: Tables,
    shards: u16,
    retention: Retention,
    data_keys: DataKeys,
}

impl DynamoStore {
    /// A store on these tables. Calls nobody yet.
    #[must_use]
    pub fn new(client: Client, data_keys: DataKeys, options: DynamoOptions) -> Arc<Self> {
        Arc::new(Self {
            client,
            tables: options.tables,
            shards: options.shards.max(1),
            retention: options.retention,
            data_keys,
        })
    }
}

impl std::fmt::Debug for DynamoStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynamoStore")
            .field("tables", &self.tables)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
