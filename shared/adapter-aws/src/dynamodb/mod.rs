//! The store on AWS: two DynamoDB tables, changed by single conditional writes, so that any number of functions can
//! work on them at once. After a crash between two writes, repeating the call completes it.
//!
//! The tests run on Amazon's DynamoDB Local. It does not simulate everything. Indexes lag on AWS: nothing here relies
//! on an index being up to date, because rows are read again by key, with strong consistency, before they are changed.
//! Throttling and lost answers: the tests make calls fail in transit. It also does not return the old item of a failed
//! condition, so the code never asks for it and does a strongly consistent read instead.

mod accept;
mod api_keys;
mod apply;
mod attempts;
mod backlog;
mod bodies;
mod calls;
mod catalogue;
mod chores;
mod claim;
mod datakeys;
mod deflated;
mod delete_tenant;
mod deleted_webhooks;
mod deliveries;
mod drains;
mod erase;
mod erasures;
mod event;
mod events_in_use;
mod expiry;
mod expression;
mod flow;
mod follow;
mod give_back;
mod health;
#[cfg(test)]
mod heat;
mod history;
mod interventions;
mod item;
mod jobs;
mod keys;
mod lanes;
mod listing;
mod merge;
mod notifications;
mod packed;
mod plan;
mod portal_links;
mod probes;
mod query;
mod registrations;
mod rejected;
mod row;
mod sealing;
mod sent_log;
mod sessions;
mod signature;
mod sources;
mod state;
mod stats;
mod stream;
mod tables;
mod tenant_records;
mod tenants;
mod transact;
mod transfers;
mod version;
mod watch;
mod webhook_item;
mod webhooks;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use postrider_domain::retention::Retention;

use events_in_use::EventsInUse;

pub use bodies::{BodyBucket, LIFETIMES_DAYS};
pub use datakeys::DataKeys;
pub use follow::Follower;
pub use stream::{Image, Record};
pub use tables::Tables;

/// Configuration of a store.
#[derive(Clone, Debug)]
pub struct DynamoOptions {
    pub tables: Tables,
    pub retention: Retention,
    /// Where large bodies are; `None` for functions that handle no bodies.
    pub bodies: Option<BodyBucket>,
}

/// Everything that the gateway stores on AWS.
pub struct DynamoStore {
    client: Client,
    tables: Tables,
    retention: Retention,
    bodies: Option<BodyBucket>,
    data_keys: DataKeys,
    own_retention: version::OwnRetention,
    events_in_use: EventsInUse,
}

impl DynamoStore {
    /// A store on these tables. Makes no call yet.
    #[must_use]
    pub fn new(client: Client, data_keys: DataKeys, options: DynamoOptions) -> Arc<Self> {
        Arc::new(Self {
            client,
            tables: options.tables,
            retention: options.retention,
            bodies: options.bodies,
            data_keys,
            own_retention: version::OwnRetention::default(),
            events_in_use: EventsInUse::default(),
        })
    }
}

impl std::fmt::Debug for DynamoStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DynamoStore")
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}
