//! A healthy receiver that answers after a moment.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::outcome::{Answer, Outcome, Response, Timings};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::sender::{Post, Posted, Sender};

use super::super::time::VirtualClock;

pub(super) struct PromptReceiver {
    clock: Arc<VirtualClock>,
    answers_after: Millis,
    asked: Mutex<Vec<Timestamp>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    delivered: Mutex<HashSet<String>>,
}

impl PromptReceiver {
    pub(super) const ANSWERS_AFTER: Millis = Millis::new(80);

    pub(super) fn new(clock: Arc<VirtualClock>, answers_after: Millis) -> Self {
        Self {
            clock,
            answers_after,
            asked: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
            delivered: Mutex::default(),
        }
    }

    pub(super) fn arrivals(&self) -> Vec<Timestamp> {
        self.asked.lock().clone()
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.most_in_flight.load(Ordering::Relaxed)
    }

    /// How many different deliveries it has got.
    pub(super) fn delivered(&self) -> usize {
        self.delivered.lock().len()
    }
}

#[async_trait]
impl Sender for PromptReceiver {
    async fn post(&self, request: Post) -> Posted {
        let now = self.clock.now();
        self.asked.lock().push(now);
        let id = request.headers["webhook-id"].to_str().unwrap().to_owned();
        self.delivered.lock().insert(id);
        let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        let until = now.plus(self.answers_after);
        self.clock.sleep_until(until).await;
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        Ok(Outcome {
            result: Answer::Response(Response {
                status: 200,
                retry_after: None,
                control: None,
                content_type: None,
                body: String::new(),
            }),
            timings: Timings::default(),
        })
    }
}
