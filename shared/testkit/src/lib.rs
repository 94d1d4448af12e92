//! Builders, stepped clock, receivers and the store suite that every store passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "test code: a failed expectation stops the test, with its location"
)]

pub mod bodies;
pub mod builders;
pub mod clock;
pub mod interruption;
pub mod model;
mod processes;
pub mod receiver;
pub mod record_model;
pub mod recording_queue;
pub mod store_suite;
pub mod stream_mapping;
