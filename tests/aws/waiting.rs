//! Waiting for the stack, and how much it is given to do.

use std::time::Duration;

/// Thousands of deliveries take many minutes on the emulator.
const PATIENCE: Duration = Duration::from_secs(2400);

pub(super) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    let wait = async {
        while !holds().await {
            looks.tick().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.unwrap_or_else(|_| panic!("{what} in time"));
}

/// The size of a test, unless the environment names a larger one for a run by hand.
#[expect(
    clippy::disallowed_methods,
    reason = "the size of a test is not a setting of the gateway"
)]
pub(super) fn size(variable: &str, usual: usize) -> usize {
    let wanted = std::env::var(variable).ok();
    wanted.map_or(usual, |count| count.parse().unwrap())
}
