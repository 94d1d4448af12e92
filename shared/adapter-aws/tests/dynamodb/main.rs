//! The store on Amazon's DynamoDB Local: the common suite, its cost, and its behaviour when calls fail.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test code"
)]

mod bodies;
mod costs;
mod deleted_webhooks;
mod expiry;
mod faults;
mod following;
mod inspected;
mod interleaving;
mod key_stats;
mod lanes;
mod many;
mod pages;
mod publishing;
mod quoted;
mod rejecting;
mod retrying;
mod sealing;
mod sent_log;
mod services;
mod shared_reads;
mod stage;
mod support;
mod units;
mod unreadable;
mod versions;
mod watching;

use support::fixture;

postrider_testkit::store_suite!(fixture);

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 50);
}

#[test]
fn store_and_record_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::record_model::check(&fixture, &runtime, 30);
}
