//! The time limits of one attempt: one for the connection, and one for the response.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout};

/// A timer that is this late shows that the process was paused: a busy machine is late by less.
const PAUSED: Duration = Duration::from_secs(1);
/// How long a process that was paused reads what arrived meanwhile.
const CATCH_UP: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Until the connection is established: name, TCP and TLS together.
    pub(crate) connect: Duration,
    /// From then on, until the response is complete.
    pub(crate) response: Duration,
}

/// The result of a future, unless it takes longer. The response to a process that was paused may have arrived in time and
/// not been read: that is not the receiver's fault.
pub(crate) async fn within<T>(limit: Duration, run: impl Future<Output = T>) -> Option<T> {
    let mut run = pin!(run);
    let begun_at = now();
    match timeout(limit, run.as_mut()).await {
        Ok(done) => Some(done),
        Err(_) if now() >= begun_at + limit + PAUSED => timeout(CATCH_UP, run).await.ok(),
        Err(_) => None,
    }
}

/// The timers' own clock.
#[expect(
    clippy::disallowed_methods,
    reason = "to see how late a timer is, and how long a connection is idle"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's clock is paused: it moves only when every task waits"
    )]
    async fn after(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// How many seconds it takes, and whether it ended by itself.
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's clock, which is paused"
    )]
    async fn runs_for(run: impl Future<Output = ()>) -> (u64, bool) {
        let begun_at = Instant::now();
        let ended = within(LIMIT, run).await;
        (begun_at.elapsed().as_secs(), ended.is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_longer_is_cut_off() {
        assert_eq!(runs_for(after(9)).await, (9, true));
        assert_eq!(runs_for(after(11)).await, (10, false));
        assert_eq!(runs_for(pending()).await, (10, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_arrived_while_the_process_was_paused_counts() {
        let (arrives, response) = tokio::sync::oneshot::channel();
        let paused = tokio::spawn(async {
            tokio::time::advance(Duration::from_secs(60)).await;
            // The timer is seen before the connection is.
            tokio::task::yield_now().await;
            arrives.send(()).unwrap();
        });
        assert!(within(LIMIT, response).await.is_some());
        paused.await.unwrap();
    }
}
