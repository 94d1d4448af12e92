//! One attempt: sign, post, decide, write.

mod own_fault;
mod probe;

use std::convert::Infallible;
use std::sync::Arc;

use postrider_domain::attempt::Attempt;
use postrider_domain::decide::{Transition, decide};
use postrider_domain::delivery::{Claimed, Completion, Delivery};
use postrider_domain::flow::{Observation, Observed};
use postrider_domain::outcome::Outcome;
use postrider_domain::request::{Content, signed_headers};
use postrider_domain::retry::{Jitter, RuntimeRetry};
use postrider_domain::template::RenderError;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{Webhook, longest_attempt};
use postrider_ports::deliveries::{Applied, ClaimedDelivery, Renewed};
use postrider_ports::sender::{OwnFault, Post, Posted, Sender};
use postrider_ports::{AttemptStore, Error, Result};
use tokio::select;

use crate::telemetry::Decision;
use crate::webhook_cache::{Snapshot, WebhookCache};
use crate::{Ports, metrics, telemetry, traces};

pub use probe::ProbeResult;

/// How long a lease lasts beyond the longest that its attempt takes.
pub const LEASE_MARGIN: Millis = Millis::from_seconds(10);
/// The longest pause between two tries to write the result of an attempt.
const MAX_WRITE_PAUSE: Millis = Millis::new(2000);
/// How long a row whose result cannot be written is held back.
const MIN_HOLD_BACK: Millis = Millis::from_seconds(60);
const MAX_HOLD_BACK: Millis = Millis::from_seconds(3600);

/// Runs attempts and probes.
pub struct Attempts {
    ports: Ports<dyn AttemptStore>,
    sender: Arc<dyn Sender>,
    webhook_cache: Arc<WebhookCache>,
    retry: RuntimeRetry,
}

/// What came of a claimed row.
#[derive(Debug)]
pub struct AttemptResult {
    pub written: Result<Attempted>,
    /// What the attempt says about its receiver, even if its result could not be written; `None` if no request was sent.
    pub observation: Option<Observation>,
}

/// The result of attempting a claimed row.
#[derive(Debug)]
pub enum Attempted {
    /// Attempted, and the result is stored.
    Done(Box<Delivery>),
    /// Attempted, but another process had claimed the row by then; its attempt counts.
    Stale,
    /// Not attempted: there was too little time left, or the webhook was deleted. The row is free and due as before.
    NotStarted,
    /// Not sent because of a fault of the gateway's own. The row is free and due as before.
    GivenBack(OwnFault),
}

/// A request that was sent, or could not be rendered.
struct Sent<'a> {
    claimed: &'a Claimed,
    webhook: &'a Webhook,
    signature: String,
    started_at: Timestamp,
}

/// A row for which no request was sent.
const fn unsent(written: Result<Attempted>) -> AttemptResult {
    AttemptResult {
        written,
        observation: None,
    }
}

impl Attempts {
    #[must_use]
    pub fn new(
        ports: impl Into<Ports<dyn AttemptStore>>,
        sender: Arc<dyn Sender>,
        webhook_cache: Arc<WebhookCache>,
        retry: RuntimeRetry,
    ) -> Self {
        Self {
            ports: ports.into(),
            sender,
            webhook_cache,
            retry,
        }
    }

    /// Attempts a claimed row once and writes the result. If the webhook cannot be read or the result cannot be written, the
    /// lease expires and the row is attempted again. `spare` is how much of the lease the longest attempt must leave: a
    /// claim may have taken long.
    pub async fn attempt(&self, delivery: &ClaimedDelivery, spare: Millis) -> AttemptResult {
        self.attempt_telling(delivery, spare, |_, _| {}).await
    }

    /// The same. Calls `answered` as soon as the request has ended, before its result is written.
    pub async fn attempt_telling(
        &self,
        delivery: &ClaimedDelivery,
        spare: Millis,
        answered: impl FnOnce(Observation, Transition) + Send,
    ) -> AttemptResult {
        let row = delivery.claimed.delivery();
        let now = self.ports.clock.now();
        let snapshot = match self.webhooks_with(row, now).await {
            Ok(snapshot) => snapshot,
            Err(error) => return unsent(Err(error)),
        };
        match snapshot.get(row.id.webhook) {
            Some(webhook) => self.send(delivery, webhook, spare, answered).await,
            None => self.not_started(delivery).await,
        }
    }

    /// [`Self::attempt`] for a caller that knows the webhook.
    pub async fn attempt_to(
        &self,
        delivery: &ClaimedDelivery,
        webhook: &Webhook,
        spare: Millis,
    ) -> AttemptResult {
        self.send(delivery, webhook, spare, |_, _| {}).await
    }

    async fn send(
        &self,
        delivery: &ClaimedDelivery,
        webhook: &Webhook,
        spare: Millis,
        answered: impl FnOnce(Observation, Transition) + Send,
    ) -> AttemptResult {
        let row = delivery.claimed.delivery();
        let started_at = self.ports.clock.now();
        let longest = longest_attempt(webhook.settings.timeout);
        if started_at.plus(longest).plus(spare) > row.lease_until {
            return self.not_started(delivery).await;
        }
        let content = match Content::of(&delivery.event, webhook) {
            Ok(content) => content,
            Err(error) => return self.unrendered(delivery, webhook, started_at, &error).await,
        };
        let mut signed = signed_headers(row, &content, webhook, started_at);
        traces::propagate(&delivery.claimed, &mut signed.headers);
        let request = Post {
            target_url: content.url(&webhook.settings.target_url),
            headers: signed.headers,
            body: content.body,
            timeout: webhook.settings.timeout,
        };
        let posted = self
            .post_holding(&delivery.claimed, request, started_at)
            .await;
        let outcome = match posted {
            Ok(outcome) => outcome,
            Err(fault) => return unsent(Ok(self.give_back(&delivery.claimed, fault).await)),
        };
        let sent = Sent {
            claimed: &delivery.claimed,
            webhook,
            signature: signed.signature,
            started_at,
        };
        self.finish(sent, &outcome, answered).await
    }

    /// An attempt that ended before anything was sent: it counts for its delivery, not for its receiver.
    async fn unrendered(
        &self,
        delivery: &ClaimedDelivery,
        webhook: &Webhook,
        started_at: Timestamp,
        error: &RenderError,
    ) -> AttemptResult {
        let sent = Sent {
            claimed: &delivery.claimed,
            webhook,
            signature: delivery.claimed.delivery().signature.clone(),
            started_at,
        };
        let outcome = Outcome::unrendered(error);
        unsent(self.finish(sent, &outcome, |_, _| {}).await.written)
    }

    async fn not_started(&self, delivery: &ClaimedDelivery) -> AttemptResult {
        self.free(&delivery.claimed).await;
        unsent(Ok(Attempted::NotStarted))
    }

    /// The webhooks of the row's tenant. Its own may be newer than the cache.
    async fn webhooks_with(&self, row: &Delivery, now: Timestamp) -> Result<Arc<Snapshot>> {
        let snapshot = self.webhook_cache.recent(&row.tenant, now).await?;
        if snapshot.get(row.id.webhook).is_some() {
            return Ok(snapshot);
        }
        self.webhook_cache.current(&row.tenant, now).await
    }

    /// Decides what follows from an outcome, writes it, and reports the attempt with the result of the write.
    async fn finish(
        &self,
        sent: Sent<'_>,
        outcome: &Outcome,
        answered: impl FnOnce(Observation, Transition) + Send,
    ) -> AttemptResult {
        let Sent {
            claimed, webhook, ..
        } = sent;
        let row = claimed.delivery();
        let policy = webhook.settings.retry.policy(self.retry);
        let jitter = Jitter(u32::from_ne_bytes(self.ports.entropy.bytes()));
        let decided_at = self.ports.clock.now();
        let transition = decide(claimed, outcome, &policy, decided_at, jitter);
        let number = row.attempts_total.saturating_add(1);
        let (version, verdict) = (claimed.version(), transition.verdict());
        let observation = Observation {
            began_at: sent.started_at,
            ended_at: decided_at,
            observed: Observed::of(outcome, transition),
        };
        answered(observation, transition);
        let completion = Completion {
            attempt: Attempt::record(number, version, sent.started_at, outcome, verdict),
            transition,
            target_url: webhook.settings.target_url.to_string(),
            signature: sent.signature,
            // The cached webhook may be from before a resume; the claim read its state.
            generation: webhook.health.generation.max(row.generation),
        };
        let written = self.write(claimed, &completion).await;
        let decision = Decision {
            row,
            outcome,
            policy: &policy,
            decided_at,
            jitter,
            transition,
        };
        telemetry::attempted(&decision, &completion.attempt, &written);
        traces::attempted(claimed, webhook, &completion, &written);
        AttemptResult {
            written,
            observation: Some(observation),
        }
    }

    /// Posts, and renews the lease while the receiver takes long.
    async fn post_holding(
        &self,
        claimed: &Claimed,
        request: Post,
        started_at: Timestamp,
    ) -> Posted {
        let lease = claimed.delivery().lease_until.since(started_at);
        select! {
            biased;
            outcome = self.sender.post(request) => outcome,
            never = self.keep_holding(claimed, lease) => match never {},
        }
    }

    /// Renews the lease after every third of its time, for as long as this future is polled.
    async fn keep_holding(&self, claimed: &Claimed, lease: Millis) -> Infallible {
        let third = Millis::new((lease.get() / 3).max(1));
        loop {
            let renew_at = self.ports.clock.now().plus(third);
            self.ports.clock.sleep_until(renew_at).await;
            let until = self.ports.clock.now().plus(lease);
            match self.ports.store.renew(claimed, until).await {
                Ok(Renewed::Held) => {}
                Ok(Renewed::Lost) => telemetry::lease_lost(claimed),
                Err(error) => telemetry::renewal_failed(claimed, &error),
            }
        }
    }

    /// Writes the result of an attempt, however long the store takes: only a written attempt counts.
    async fn write(&self, claimed: &Claimed, completion: &Completion) -> Result<Attempted> {
        let mut pause = Millis::new(50);
        loop {
            let now = self.ports.clock.now();
            match self
                .ports
                .store
                .apply(claimed, completion.clone(), now)
                .await
            {
                Ok(Applied::Done(after)) => {
                    metrics::finished(&after, now);
                    return Ok(Attempted::Done(after));
                }
                Ok(Applied::Stale) => return Ok(Attempted::Stale),
                Err(error) if error.is_transient() => {
                    telemetry::write_failed(claimed, &error);
                    self.ports.clock.sleep_until(now.plus(pause)).await;
                    pause = pause.plus(pause).min(MAX_WRITE_PAUSE);
                }
                Err(error) => {
                    self.hold_back(claimed, &error, now).await;
                    return Err(error);
                }
            }
        }
    }

    /// A result that cannot be written would be sent again as soon as the lease ends, forever. The row is held for as long
    /// as it is overdue already, so the pauses double.
    async fn hold_back(&self, claimed: &Claimed, error: &Error, now: Timestamp) {
        let row = claimed.delivery();
        let overdue = now.since(row.next_retry_at.unwrap_or(row.created_at));
        let pause = overdue.clamp(MIN_HOLD_BACK, MAX_HOLD_BACK);
        metrics::unwritable();
        telemetry::result_unwritable(claimed, pause, error);
        if let Err(error) = self.ports.store.renew(claimed, now.plus(pause)).await {
            telemetry::renewal_failed(claimed, &error);
        }
    }
}
