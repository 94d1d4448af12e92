//! AWS list prices in US dollars for us-east-1, without free tiers and volume discounts, as published in 2026. Check
//! the prices of your region before you rely on a total.

/// A million write request units, on demand.
pub(crate) const WRITES: f64 = 0.625;
/// A million read request units, on demand.
pub(crate) const READS: f64 = 0.125;
/// A gigabyte stored for a month.
pub(crate) const STORED_GB_MONTH: f64 = 0.25;
/// A million requests to an HTTP API, each up to 512 KB.
pub(crate) const HTTP_API: f64 = 1.0;
/// A million invocations of a function.
pub(crate) const INVOCATIONS: f64 = 0.2;
/// A gigabyte of a function's memory for a second, arm64.
pub(crate) const GB_SECOND: f64 = 0.000_013_333_4;
/// A million requests to a standard queue whose messages have a group id, as in a fair queue.
pub(crate) const QUEUE: f64 = 0.4 + 0.1;
/// A million requests to publish to a topic.
pub(crate) const TOPIC: f64 = 0.5;
/// A gigabyte of ingested logs.
pub(crate) const LOGS_GB: f64 = 0.5;
