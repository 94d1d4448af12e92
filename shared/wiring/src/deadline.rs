//! Until when an invocation may take.

use lambda_runtime::Context;
use postrider_domain::time::Timestamp;

/// The deadline that the runtime names; it may lie in the past, which means that it is unknown.
#[must_use]
pub fn deadline(context: &Context) -> Timestamp {
    Timestamp::from_millis(i64::try_from(context.deadline).unwrap_or(i64::MAX))
}
