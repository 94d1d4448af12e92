//! Work that must not stop halfway because its caller goes away.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Runs as part of its caller. If the caller is dropped, the rest runs as a task of its own. Spawning a task right away would do
/// too, but costs two switches between tasks for every event.
pub(super) struct ToTheEnd<T: Send + 'static>(Option<Pin<Box<dyn Future<Output = T> + Send>>>);

impl<T: Send + 'static> ToTheEnd<T> {
    pub(super) fn of(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T: Send + 'static> Future for ToTheEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Taken out while it runs: after a panic there is nothing left to run.
        let Some(mut work) = self.0.take() else {
            return Poll::Pending;
        };
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            self.0 = Some(work);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for ToTheEnd<T> {
    fn drop(&mut self) {
        if let (Some(work), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_whose_caller_goes_away_still_ends() {
        let (go, gone) = oneshot::channel::<()>();
        let (ended, end) = oneshot::channel();
        let mut work = ToTheEnd::of(async move {
            gone.await.unwrap();
            ended.send(7).unwrap();
        });
        let began = poll_fn(|context| Poll::Ready(Pin::new(&mut work).poll(context))).await;
        assert!(began.is_pending());
        drop(work);
        go.send(()).unwrap();
        assert_eq!(end.await, Ok(7));
    }
}
