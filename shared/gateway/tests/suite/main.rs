//! The use cases of the functions, with SQLite, real sockets and a stepped clock.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation stops the test, with its location"
)]

mod backlogs;
mod bulk_retries;
mod clock_ahead;
mod cycles;
mod draining;
mod erasing;
mod first_key;
mod handling;
mod holding;
mod interrupted_store;
mod key_use;
mod own_faults;
mod polling;
mod recovering;
mod running;
mod shadowing;
mod stage;
mod starting;
mod unwritten;
