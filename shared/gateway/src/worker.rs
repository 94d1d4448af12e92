//! Workers take due deliveries, claim them and run their attempts: [`embedded`] in the process of `postrider serve`,
//! [`queue`] on batches of queue messages on AWS, and [`drain`] on the backlog of one webhook there.

mod claims;
pub mod drain;
pub mod embedded;
pub mod queue;

use postrider_domain::time::Millis;

/// The time that a function needs after an attempt to write the result and to report.
const START_MARGIN: Millis = Millis::from_seconds(3);
/// How long before its deadline a function aborts unfinished work, so that it can still report the rest.
const REPORT_MARGIN: Millis = Millis::from_seconds(1);
