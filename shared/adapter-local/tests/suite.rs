//! The store suite on SQLite.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod support;

use support::fixture;

postrider_testkit::store_suite!(fixture);
postrider_testkit::embedded_suite!(fixture);
