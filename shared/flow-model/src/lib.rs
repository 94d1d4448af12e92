//! The flow limiter against models of receivers, in virtual time. For tests and `make simulate` only.
//!
//! `tests/bars.rs` has short forms of the cases, as part of the gate. [`cases`] has them at full length, as rows of the table
//! that `make simulate` prints.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code: a failed expectation shall stop the test where it stands"
)]

pub mod cases;
pub mod policy;
pub mod random;
pub mod receiver;
pub mod report;
pub mod scenario;
mod sender;
mod simulation;
pub mod table;

pub use simulation::run;
