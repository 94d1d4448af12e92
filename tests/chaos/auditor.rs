//! A receiver that keeps its own list of what arrived.

use std::collections::HashMap;

use postrider_testkit::receiver::Receiver;

/// Counts requests by delivery.
pub(super) struct Auditor {
    receiver: Receiver,
}

impl Auditor {
    pub(super) async fn start() -> Self {
        Self {
            receiver: Receiver::start().await,
        }
    }

    pub(super) fn url(&self) -> String {
        self.receiver.url()
    }

    fn counts(&self) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for request in self.receiver.requests() {
            *counts
                .entry(request.header("webhook-id").to_owned())
                .or_default() += 1;
        }
        counts
    }

    pub(super) fn missing(&self, acknowledged: &[String]) -> usize {
        let counts = self.counts();
        acknowledged
            .iter()
            .filter(|id| !counts.contains_key(*id))
            .count()
    }

    pub(super) fn duplicates(&self) -> usize {
        self.counts().values().map(|count| count - 1).sum()
    }

    /// Returns when each of these has arrived.
    pub(super) async fn saw_all(&self, acknowledged: &[String]) {
        loop {
            let so_far = self.receiver.requests().len();
            if self.missing(acknowledged) == 0 {
                return;
            }
            self.receiver.received(so_far + 1).await;
        }
    }
}
