//! The time limits of one attempt: one for the connection, and one for the response.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::select;
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

enum Progress {
    Ended,
    Connected,
}

impl Limits {
    /// Runs an exchange until it ends or exceeds a limit. `connected` resolves when the request has its connection.
    pub(crate) async fn enforce(
        self,
        run: impl Future<Output = ()>,
        connected: impl Future<Output = ()>,
    ) {
        let mut run = pin!(run);
        let connecting = async {
            select! {
                biased;
                () = &mut run => Progress::Ended,
                () = connected => Progress::Connected,
            }
        };
        // Ended or cancelled: the exchange holds what is known.
        let progress = within(self.connect, pin!(connecting)).await;
        if let Some(Progress::Connected) = progress {
            within(self.response, run).await;
        }
    }
}

/// The result of a future, unless it takes longer. The response to a process that was paused may have arrived in time and
/// not been read: that is not the receiver's fault.
async fn within<T>(limit: Duration, mut run: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    let begun_at = now();
    match timeout(limit, run.as_mut()).await {
        Ok(done) => Some(done),
        Err(_) if now() >= begun_at + limit + PAUSED => timeout(CATCH_UP, run).await.ok(),
        Err(_) => None,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the timer's own clock, to see how late it is"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    const LIMITS: Limits = Limits {
        connect: Duration::from_secs(5),
        response: Duration::from_secs(10),
    };

    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's clock is paused: it moves only when every task waits"
    )]
    async fn after(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// How many seconds an exchange runs that connects after `connected` seconds and ends after `ended`.
    #[expect(
        clippy::disallowed_methods,
        reason = "the runtime's clock, which is paused"
    )]
    async fn runs_for(ended: impl Future<Output = ()>, connected: impl Future<Output = ()>) -> u64 {
        let begun_at = Instant::now();
        LIMITS.enforce(ended, connected).await;
        begun_at.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn connecting_takes_nothing_from_the_response() {
        assert_eq!(runs_for(after(14), after(4)).await, 14);
        assert_eq!(runs_for(after(9), after(0)).await, 9);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_never_established_ends_with_its_own_limit() {
        assert_eq!(runs_for(pending(), pending()).await, 5);
        assert_eq!(runs_for(pending(), after(6)).await, 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_never_ends_is_cut_off_after_the_connection_and_its_limit() {
        assert_eq!(runs_for(pending(), after(0)).await, 10);
        assert_eq!(runs_for(pending(), after(4)).await, 14);
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
        let mut has_read = false;
        let run = async {
            response.await.unwrap();
            has_read = true;
        };
        LIMITS.enforce(run, after(0)).await;
        paused.await.unwrap();
        assert!(has_read);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_connection_ends_at_once() {
        assert_eq!(runs_for(after(1), pending()).await, 1);
    }
}
