//! Scenarios, restarts under load and conformance tests of the whole gateway, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "test code: a failed expectation stops the test, with its location"
)]

use postrider_tests::command;

mod architecture;
mod aws;
mod backups;
mod canary;
mod conformance;
#[cfg(target_os = "linux")]
mod descriptors;
#[cfg(target_os = "linux")]
mod dist;
mod documents;
mod examples;
#[cfg(target_os = "linux")]
mod full_disk;
mod fuzzed;
mod inbound_command;
mod inspector;
mod mail;
mod moving;
mod openapi;
mod operator_command;
#[cfg(target_os = "linux")]
mod power_loss;
mod restarts;
mod rie;
mod scenarios;
mod simulated;
