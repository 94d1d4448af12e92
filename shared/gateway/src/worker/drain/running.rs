//! The attempts of a drain that are under way. They go on while the drainer waits for the store or the queue: a receiver
//! that answers must not wait for our own calls.

use std::collections::VecDeque;
use std::pin::pin;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use postrider_domain::ids::DeliveryId;
use tokio::select;

use crate::attempt::AttemptResult;

pub(super) type Ended = (DeliveryId, AttemptResult);

#[derive(Default)]
pub(super) struct Running<'a> {
    under_way: FuturesUnordered<BoxFuture<'a, Ended>>,
    /// Attempts that ended while the drainer waited for something else.
    ended: VecDeque<Ended>,
}

impl<'a> Running<'a> {
    pub(super) fn begin(&self, attempt: BoxFuture<'a, Ended>) {
        self.under_way.push(attempt);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.under_way.is_empty() && self.ended.is_empty()
    }

    /// Waits for something else, and runs the attempts meanwhile.
    pub(super) async fn alongside<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        loop {
            select! {
                biased;
                done = &mut other => return done,
                Some(ended) = self.under_way.next() => self.ended.push_back(ended),
            }
        }
    }

    /// Waits until an attempt has ended, or for something else.
    pub(super) async fn any_ended_or(&mut self, other: impl Future<Output = ()>) {
        if !self.ended.is_empty() {
            return;
        }
        select! {
            biased;
            Some(ended) = self.under_way.next() => self.ended.push_back(ended),
            () = other => {}
        }
    }

    /// The next attempt that has ended.
    pub(super) fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use postrider_domain::ids::{EventId, WebhookId};
    use postrider_ports::Error;
    use tokio::sync::oneshot;

    use super::*;

    fn ended() -> Ended {
        let id = DeliveryId {
            event: EventId::from_bytes([1; 16]),
            webhook: WebhookId::from_bytes([2; 16]),
        };
        let result = AttemptResult {
            written: Err(Error::Unavailable("an example".to_owned())),
            observation: None,
        };
        (id, result)
    }

    #[test]
    fn an_attempt_goes_on_while_the_drainer_waits_for_the_store() {
        let mut running = Running::default();
        let (answer, store) = oneshot::channel();
        running.begin(Box::pin(async {
            answer.send(7).unwrap();
            ended()
        }));
        assert_eq!(running.alongside(store).now_or_never(), Some(Ok(7)));
        assert!(running.take_ended().is_some() && running.is_empty());
    }
}
