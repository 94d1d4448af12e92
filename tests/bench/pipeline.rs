//! A gateway with some webhooks, through which messages are published as fast as they are accepted.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::arrivals::{Arrivals, Count};
use crate::gateway::Gateway;
use crate::procfs::Usage;
use crate::samples::Samples;
use crate::{load, message};

/// Events before the measured ones: connections are opened, statements are prepared.
const WARM_UP: u64 = 1000;
/// The most events of one request.
const BATCH: u64 = 100;

/// How events are published.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Requests {
    /// One event per request.
    Single,
    /// The same without naming a webhook; the gateway selects it.
    Selected,
    /// A hundred events per request.
    Batches,
}

/// The gateway, its webhooks and the number of messages published so far.
pub(crate) struct Pipeline<'a> {
    pub(crate) gateway: Gateway,
    webhooks: Vec<String>,
    /// The length of each payload that goes to one webhook.
    bytes: usize,
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
    /// What the gateway used until it was idle.
    pub(crate) used: Usage,
}

impl<'a> Pipeline<'a> {
    /// Starts a gateway with one webhook.
    pub(crate) async fn start(disk: &Path, arrivals: &'a Arrivals) -> Self {
        Self::with_webhooks(disk, arrivals, 1).await
    }

    pub(crate) async fn with_webhooks(
        disk: &Path,
        arrivals: &'a Arrivals,
        webhooks: usize,
    ) -> Self {
        let gateway = Gateway::start(disk).await;
        let mut ids = Vec::new();
        for lane in 0..webhooks {
            ids.push(gateway.webhook(&arrivals.url(lane)).await);
        }
        let mut pipeline = Self {
            gateway,
            webhooks: ids,
            bytes: message::BYTES,
            arrivals,
            published: 0,
        };
        pipeline.publish(WARM_UP).await;
        pipeline
    }

    /// Starts a gateway with a webhook for each of these settings, only the first of which gets events.
    pub(crate) async fn of_one_among(
        disk: &Path,
        arrivals: &'a Arrivals,
        settings: impl Iterator<Item = Value>,
    ) -> Self {
        let gateway = Gateway::start(disk).await;
        let mut ids = Vec::new();
        for own in settings {
            ids.push(gateway.webhook_with(&arrivals.url(0), own).await);
        }
        ids.truncate(1);
        let mut pipeline = Self {
            gateway,
            webhooks: ids,
            bytes: message::BYTES,
            arrivals,
            published: 0,
        };
        pipeline.publish_as(Requests::Selected, WARM_UP).await;
        pipeline
    }

    /// Starts a gateway with one webhook, for payloads of this length.
    pub(crate) async fn with_bodies(disk: &Path, arrivals: &'a Arrivals, bytes: usize) -> Self {
        let pipeline = Self::start(disk, arrivals).await;
        Self { bytes, ..pipeline }
    }

    /// Publishes this many messages one by one and waits until they have arrived and the gateway is idle.
    pub(crate) async fn publish(&mut self, messages: u64) -> Run {
        self.publish_as(Requests::Single, messages).await
    }

    pub(crate) async fn publish_as(&mut self, requests: Requests, messages: u64) -> Run {
        let (first, used_before) = (self.published, Usage::of(self.gateway.pid()));
        self.published += messages;
        let (began, began_at) = (Instant::now(), message::now());
        let to = self.gateway.address();
        let accept = match (requests, self.webhooks.as_slice()) {
            (Requests::Batches, _) => {
                let batch = move |n| {
                    let start = first + n * BATCH;
                    message::batch(start..start + BATCH, message::now())
                };
                load::flat_out(to, 0..messages / BATCH, batch).await
            }
            (Requests::Selected, _) => {
                let event = |n| message::event_for_all(n, message::now());
                load::flat_out(to, first..first + messages, event).await
            }
            (Requests::Single, [webhook]) => {
                let (webhook, bytes) = (webhook.clone(), self.bytes);
                let event = move |n| message::event_of(bytes, &webhook, n, message::now());
                load::flat_out(to, first..first + messages, event).await
            }
            (Requests::Single, _) => {
                let event = |n| message::event_for_all(n, message::now());
                load::flat_out(to, first..first + messages, event).await
            }
        };
        let accepted_in = began.elapsed().as_secs_f64();
        let counts = self
            .arrivals
            .wait(self.webhooks.len(), self.published)
            .await;
        let last_at = counts.iter().map(|count| count.last_new_at).max();
        self.gateway.idle().await;
        Run {
            accept,
            accepted_in,
            delivered_in: last_at.unwrap_or(0).saturating_sub(began_at) as f64 / 1e6,
            used: Usage::of(self.gateway.pid()).since(used_before),
        }
    }

    /// Publishes this many messages per second to the first webhook, waits until they have arrived and the gateway is idle,
    /// and returns how many there were.
    pub(crate) async fn publish_paced(&mut self, rate: u64, lasting: Duration) -> u64 {
        self.arrivals.forget().await;
        let paced = load::paced(self.gateway.address(), &self.webhooks[..1], rate, lasting).await;
        self.arrivals.wait(1, paced.messages).await;
        self.gateway.idle().await;
        paced.messages
    }

    /// The arrivals at the first webhook, once everything has arrived or no more messages arrive.
    pub(crate) async fn arrived(&self) -> Count {
        self.arrivals.wait(1, self.published).await[0]
    }

    /// The size of the database.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        self.gateway.bytes_on_disk()
    }

    pub(crate) async fn stop(self) {
        self.gateway.stop().await;
        self.arrivals.forget().await;
    }
}
