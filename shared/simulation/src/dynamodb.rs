//! DynamoDB in memory, as far as the store uses it: conditional writes, transactions, queries, indexes that lag, time to live,
//! and a stream.
//! It sits behind the HTTP client of the SDK, so the real adapter runs on it. The caller decides when a request takes effect
//! and what a reader may see, so that a simulation can be repeated exactly. An expression that it does not know is a panic,
//! never a guess.
//!
//! The store suite runs on it, as on DynamoDB Local.

mod calls;
mod client;
mod condition;
mod expiry;
mod index;
mod keys;
mod kms;
mod query;
mod stream;
mod table;
mod tokens;
mod update;
mod value;

pub use calls::{Database, Reply};
pub use client::{NoAnswer, Request, SdkResponse, Transport, http_client};
pub use kms::key_service;
pub use stream::ItemChange;
pub use table::{IndexSchema, TableSchema, schema};
pub use value::TableItem;

/// What a reader that does not ask for consistency may see, and when.
pub trait View {
    fn now_ms(&self) -> i64;

    /// How long an index takes to show a change.
    fn index_lag_ms(&mut self) -> i64;

    /// Whether an eventually consistent read shows an item as it was before its last change, a moment ago.
    fn is_stale(&mut self) -> bool;

    /// The most items of a page, beside the limit of its request.
    fn page_limit(&mut self) -> Option<usize>;

    /// How long after it has expired an item is deleted.
    fn expiry_lag_ms(&mut self) -> i64;
}

/// Everything is visible at once.
pub struct Prompt;

impl View for Prompt {
    fn now_ms(&self) -> i64 {
        0
    }

    fn index_lag_ms(&mut self) -> i64 {
        0
    }

    fn is_stale(&mut self) -> bool {
        false
    }

    fn page_limit(&mut self) -> Option<usize> {
        None
    }

    fn expiry_lag_ms(&mut self) -> i64 {
        0
    }
}
