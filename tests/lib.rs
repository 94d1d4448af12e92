//! Code shared by the tests and benchmarks of the whole gateway.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation ends the run, with its place"
)]

pub mod api;
pub mod chaos;
pub mod command;
pub mod hostile;
pub mod schema;
pub mod simulation;
