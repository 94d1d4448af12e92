//! The flow limiter against models of receivers, in virtual time.
//!
//! The short forms of all cases are part of the gate. The whole table, at full length:
//! `cargo test --release -p postrider-domain --test flow -- --ignored --nocapture table`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code: a failed expectation shall stop the test where it stands"
)]

mod bars;
mod policy;
mod random;
mod receiver;
mod report;
mod scenario;
mod sender;
mod simulation;
mod table;
