//! A receiver with its own list of what arrived.

use std::collections::HashMap;

use postrider_testkit::receiver::Receiver;

/// Counts requests by delivery.
pub(super) struct Auditor {
    receiver: Receiver,
    counts: HashMap<String, usize>,
}

impl Auditor {
    pub(super) async fn start() -> Self {
        Self {
            receiver: Receiver::start().await,
            counts: HashMap::new(),
        }
    }

    pub(super) fn url(&self) -> String {
        self.receiver.url()
    }

    /// Counts the requests since the last call.
    pub(super) fn count(&mut self) {
        for request in self.receiver.take_requests() {
            *self
                .counts
                .entry(request.header("webhook-id").to_owned())
                .or_default() += 1;
        }
    }

    pub(super) fn missing(&self, acknowledged: &[String]) -> usize {
        acknowledged
            .iter()
            .filter(|id| !self.counts.contains_key(*id))
            .count()
    }

    pub(super) fn duplicates(&self) -> usize {
        self.counts.values().map(|count| count - 1).sum()
    }

    /// How many requests arrived beyond the first of a delivery and one for each time that it was held at a kill.
    pub(super) fn unexplained(&self, held: &[String]) -> usize {
        let mut allowed: HashMap<&str, usize> = HashMap::new();
        for id in held {
            *allowed.entry(id).or_insert(1) += 1;
        }
        let excess = |(id, count): (&String, &usize)| {
            let allowed = allowed.get(id.as_str()).copied().unwrap_or(1);
            count.saturating_sub(allowed)
        };
        self.counts.iter().map(excess).sum()
    }

    /// Returns when each of these has arrived.
    pub(super) async fn saw_all(&mut self, acknowledged: &[String]) {
        let mut missing: Vec<&String> = acknowledged.iter().collect();
        loop {
            self.count();
            missing.retain(|id| !self.counts.contains_key(*id));
            if missing.is_empty() {
                return;
            }
            self.receiver.next_request().await;
        }
    }
}
