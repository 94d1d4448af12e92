//! The model on SQLite, in a process of its own: while its store is interrupted, nothing in it can write to a file.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod support;

use rustix::process::Signal;
use support::fixture;
use tokio::signal::unix::{SignalKind, signal};

#[test]
fn store_and_model_agree() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    // Unless it is handled, this signal ends a process that writes beyond its limit.
    let _handled = runtime.block_on(async {
        let beyond = SignalKind::from_raw(Signal::XFSZ.as_raw());
        signal(beyond).unwrap()
    });
    let fixture = runtime.block_on(fixture());
    postrider_testkit::model::check(&fixture, &runtime, 96);
}
