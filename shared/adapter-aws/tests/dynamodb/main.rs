//! The store on Amazon's DynamoDB Local: the common suite, its cost, and its behaviour when calls fail.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod bodies;
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
mod rejecting;
mod retrying;
mod sealing;
mod sent_log;
mod services;
mod support;
mod units;

use support::fixture;

postrider_testkit::store_suite!(fixture);

/// On fresh tables every now and then, because rows that earlier sequences left in backlogs are examined by every later one.
#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for _ in 0..3 {
        let fixture = runtime.block_on(fixture());
        postrider_testkit::model::check(&fixture, &runtime, 2);
    }
}
