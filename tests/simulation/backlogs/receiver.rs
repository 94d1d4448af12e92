//! A healthy receiver that answers after a moment.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::outcome::{Answer, Outcome, Response, Timings};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::sender::{Post, Posted, Sender};

use super::super::time::VirtualClock;

const ANSWERS_AFTER: Millis = Millis::new(80);

pub(super) struct PromptReceiver {
    clock: Arc<VirtualClock>,
    asked: Mutex<Vec<Timestamp>>,
    delivered: Mutex<HashSet<String>>,
}

impl PromptReceiver {
    pub(super) fn new(clock: Arc<VirtualClock>) -> Self {
        Self {
            clock,
            asked: Mutex::default(),
            delivered: Mutex::default(),
        }
    }

    pub(super) fn arrivals(&self) -> Vec<Timestamp> {
        self.asked.lock().clone()
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
        self.clock.sleep_until(now.plus(ANSWERS_AFTER)).await;
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
