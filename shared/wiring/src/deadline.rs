//! When an invocation has to end.

use lambda_runtime::Context;
use postrider_domain::time::{Millis, Timestamp};

/// The time limit of an invocation if the runtime does not give one.
const UNKNOWN: Millis = Millis::from_seconds(60);

/// When the invocation has to end. A deadline in the past means that it is unknown: `cargo lambda watch` sends one in 1970.
#[must_use]
pub fn deadline(context: &Context, now: Timestamp) -> Timestamp {
    let told = Timestamp::from_millis(i64::try_from(context.deadline).unwrap_or(i64::MAX));
    if told < now { now.plus(UNKNOWN) } else { told }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_in_1970_is_unknown() {
        let now = Timestamp::from_millis(1_771_668_000_000);
        let mut context = Context::default();
        assert_eq!(deadline(&context, now), now.plus(UNKNOWN));
        context.deadline = 1_771_668_030_000;
        let told = now.plus(Millis::from_seconds(30));
        assert_eq!(deadline(&context, now), told);
    }
}
