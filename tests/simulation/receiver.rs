//! A receiver in virtual time: down or healthy, and always responding at once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::outcome::{Answer, Outcome, Response, Timings};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::sender::{Post, Posted, Sender};
use postrider_testkit::clock::SteppedClock;

/// Accepts requests when it is healthy.
pub(super) struct Receiver {
    clock: Arc<SteppedClock>,
    status: AtomicU16,
    asked: Mutex<Vec<Timestamp>>,
    taken: Mutex<HashMap<String, usize>>,
}

impl Receiver {
    pub(super) fn new(clock: Arc<SteppedClock>) -> Self {
        Self {
            clock,
            status: AtomicU16::new(200),
            asked: Mutex::default(),
            taken: Mutex::default(),
        }
    }

    /// Sets the status of its responses.
    pub(super) fn answer(&self, status: u16) {
        self.status.store(status, Ordering::Relaxed);
    }

    /// When requests arrived since the last call.
    pub(super) fn take_arrivals(&self) -> Vec<Timestamp> {
        std::mem::take(&mut self.asked.lock())
    }

    /// How many deliveries it has accepted, and how many of them more than once.
    pub(super) fn taken(&self) -> (usize, usize) {
        let taken = self.taken.lock();
        (
            taken.len(),
            taken.values().filter(|times| **times > 1).count(),
        )
    }
}

#[async_trait]
impl Sender for Receiver {
    async fn post(&self, request: Post) -> Posted {
        let status = self.status.load(Ordering::Relaxed);
        self.asked.lock().push(self.clock.now());
        if status == 200 {
            let id = request.headers["webhook-id"].to_str().unwrap().to_owned();
            *self.taken.lock().entry(id).or_default() += 1;
        }
        Ok(Outcome {
            result: Answer::Response(Response {
                status,
                retry_after: None,
                control: None,
                content_type: None,
                body: String::new(),
            }),
            timings: Timings::default(),
        })
    }
}

/// The most requests within any one second.
pub(super) fn most_in_a_second(asked: &[Timestamp]) -> usize {
    let second = Millis::from_seconds(1);
    let within =
        |(n, from): (usize, &Timestamp)| asked[n..].partition_point(|at| *at < from.plus(second));
    asked.iter().enumerate().map(within).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_may_start_at_any_time() {
        let at = |ms: &[i64]| {
            ms.iter()
                .copied()
                .map(Timestamp::from_millis)
                .collect::<Vec<_>>()
        };
        assert_eq!(most_in_a_second(&at(&[])), 0);
        assert_eq!(most_in_a_second(&at(&[0, 1000, 2000])), 1);
        assert_eq!(most_in_a_second(&at(&[0, 900, 1000, 1800, 1899, 1900])), 4);
    }
}
