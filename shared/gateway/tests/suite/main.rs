//! The use-cases of the functions, over SQLite and real sockets, with a clock that is stepped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation ends the run, with its place"
)]

mod chores;
mod first_key;
mod handling;
mod holding;
mod mending;
mod pacing;
mod polling;
mod shadowing;
mod stage;
