//! The store on Amazon's DynamoDB Local: the common suite, what it costs, and what happens when calls fail.
#![allow(clippy::unwrap_used, reason = "test code")]

mod faults;
mod following;
mod sealing;
mod services;
mod support;
mod units;

use support::fixture;

postrider_testkit::store_suite!(fixture);

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 16);
}
