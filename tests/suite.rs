//! Scenarios, restarts under fire and conformance of the whole gateway, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code: a broken expectation ends the run, with its place"
)]

use postrider_tests::command;

mod architecture;
mod aws;
mod canary;
mod conformance;
mod documents;
mod fuzzed;
mod inbound_command;
mod inspector;
mod mail;
mod operator_command;
mod restarts;
mod rie;
mod scenarios;
mod simulated;
