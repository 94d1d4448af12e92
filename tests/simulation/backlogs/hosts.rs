//! The receivers of many webhooks: some answer, some never do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Response, Timings};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use postrider_ports::sender::{Post, Posted, Sender};

use super::super::time::VirtualClock;

const ANSWERS_AFTER: Millis = Millis::new(500);

pub(super) struct Hosts {
    clock: Arc<VirtualClock>,
    /// The first ones never answer.
    hanging: u32,
    /// Deliveries to the first ones are not counted, whether they answer or not.
    uncounted: u32,
    count_from: Timestamp,
    delivered: AtomicUsize,
}

impl Hosts {
    pub(super) fn new(clock: Arc<VirtualClock>, hanging: u32, uncounted: u32) -> Self {
        Self {
            count_from: clock.now(),
            clock,
            hanging,
            uncounted,
            delivered: AtomicUsize::new(0),
        }
    }

    pub(super) fn counting_from(mut self, at: Timestamp) -> Self {
        self.count_from = at;
        self
    }

    /// How many requests were answered.
    pub(super) fn delivered(&self) -> usize {
        self.delivered.load(Ordering::Relaxed)
    }
}

/// The number of the webhook that a request is for.
fn number(request: &Post) -> u32 {
    let host = request.target_url.host_str().unwrap();
    let label = host.split('.').next().unwrap();
    label.trim_start_matches("receiver-").parse().unwrap()
}

#[async_trait]
impl Sender for Hosts {
    async fn post(&self, request: Post) -> Posted {
        let (now, number) = (self.clock.now(), number(&request));
        if number < self.hanging {
            self.clock.sleep_until(now.plus(request.timeout)).await;
            return Ok(Outcome {
                result: Answer::Failed(Failure {
                    kind: FailureKind::Timeout,
                    phase: Phase::FirstByte,
                    detail: "timed out".to_owned(),
                }),
                timings: Timings::default(),
            });
        }
        self.clock.sleep_until(now.plus(ANSWERS_AFTER)).await;
        if number >= self.uncounted && self.clock.now() >= self.count_from {
            self.delivered.fetch_add(1, Ordering::Relaxed);
        }
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
