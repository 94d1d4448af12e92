//! The store suite and the model of the records on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod support;

use support::fixture;

postrider_testkit::store_suite!(fixture);
postrider_testkit::embedded_suite!(fixture);

#[test]
fn store_and_record_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = runtime.block_on(fixture());
    postrider_testkit::record_model::check(&fixture, &runtime, 96);
}
