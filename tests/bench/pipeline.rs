//! A gateway with one webhook, through which messages are published as fast as they are accepted.

use std::path::Path;
use std::time::Instant;

use crate::arrivals::{Arrivals, Count};
use crate::gateway::Gateway;
use crate::samples::Samples;
use crate::{load, message};

/// Events before the measured ones: connections are opened, statements are prepared.
const WARM_UP: u64 = 1000;

/// The gateway, its webhook and the number of messages published so far.
pub(crate) struct Pipeline<'a> {
    pub(crate) gateway: Gateway,
    webhook: String,
    arrivals: &'a Arrivals,
    pub(crate) published: u64,
}

/// The result of publishing a number of messages.
pub(crate) struct Run {
    /// How long each took to be accepted.
    pub(crate) accept: Samples,
    /// How long it took until all were accepted, in seconds.
    pub(crate) accepted_in: f64,
    /// How long it took until all had arrived, in seconds.
    pub(crate) delivered_in: f64,
}

impl<'a> Pipeline<'a> {
    pub(crate) async fn start(disk: &Path, arrivals: &'a Arrivals) -> Self {
        let gateway = Gateway::start(disk).await;
        let webhook = gateway.webhook(&arrivals.url(0)).await;
        let mut pipeline = Self {
            gateway,
            webhook,
            arrivals,
            published: 0,
        };
        pipeline.publish(WARM_UP).await;
        pipeline
    }

    /// Publishes this many messages and waits until they have arrived and the gateway is idle.
    pub(crate) async fn publish(&mut self, messages: u64) -> Run {
        let numbers = self.published..self.published + messages;
        self.published = numbers.end;
        let (began, began_at) = (Instant::now(), message::now());
        let accept = load::flat_out(self.gateway.address(), &self.webhook, numbers).await;
        let accepted_in = began.elapsed().as_secs_f64();
        let last_at = self.arrived().await.last_new_at;
        self.gateway.idle().await;
        Run {
            accept,
            accepted_in,
            delivered_in: last_at.saturating_sub(began_at) as f64 / 1e6,
        }
    }

    /// The arrivals, once everything has arrived or no more messages arrive.
    pub(crate) async fn arrived(&self) -> Count {
        self.arrivals.wait(1, self.published).await[0]
    }

    pub(crate) async fn stop(self) {
        self.gateway.stop().await;
        self.arrivals.forget().await;
    }
}
