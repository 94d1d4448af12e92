//! Which deliveries the embedded worker starts while the results of earlier ones are not written yet.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use postrider_domain::delivery::{Claimed, Completion, Status};
use postrider_domain::health::Health;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::worker::embedded::EmbeddedWorker;
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, Deliveries, Renewed, Wanted,
};
use postrider_ports::probes::Probes;
use postrider_ports::{AttemptStore, Result, Store};
use postrider_testkit::receiver::Answer;
use tokio::sync::watch;

use crate::stage::Stage;

/// How long a test waits for what does not come.
const PATIENCE: Duration = Duration::from_secs(10);

/// A store that writes no results until it is let.
struct Stuck {
    store: Arc<dyn Store>,
    writes: watch::Sender<bool>,
    results: watch::Sender<usize>,
}

impl Stuck {
    fn over(stage: &Stage) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&stage.ports.store),
            writes: watch::Sender::new(false),
            results: watch::Sender::new(0),
        })
    }

    /// Returns when so many results wait to be written.
    async fn holds(&self, count: usize) {
        let mut results = self.results.subscribe();
        let enough = results.wait_for(|held| *held >= count);
        let enough = tokio::time::timeout(PATIENCE, enough).await;
        enough.expect("in time").expect("the store is there");
    }

    fn write(&self) {
        self.writes.send_replace(true);
    }
}

#[async_trait]
impl Deliveries for Stuck {
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        self.store.accept(batch).await
    }

    async fn claim(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        self.store.claim(wanted, now).await
    }

    async fn renew(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed> {
        self.store.renew(claimed, until).await
    }

    async fn give_back(&self, claimed: &Claimed, now: Timestamp) -> Result<()> {
        self.store.give_back(claimed, now).await
    }

    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        now: Timestamp,
    ) -> Result<Applied> {
        self.results.send_modify(|held| *held += 1);
        let mut writes = self.writes.subscribe();
        writes.wait_for(|writes| *writes).await.unwrap();
        self.store.apply(claimed, completion, now).await
    }
}

#[async_trait]
impl Probes for Stuck {
    async fn probes_due(&self, limit: usize, now: Timestamp) -> Result<Vec<(TenantId, WebhookId)>> {
        self.store.probes_due(limit, now).await
    }

    async fn begin_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        now: Timestamp,
    ) -> Result<Option<Health>> {
        self.store.begin_probe(tenant, id, now).await
    }

    async fn give_back_probe(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        probes: u32,
        now: Timestamp,
    ) -> Result<()> {
        self.store.give_back_probe(tenant, id, probes, now).await
    }

    async fn probe_passed(
        &self,
        tenant: &TenantId,
        id: WebhookId,
        generation: u32,
        now: Timestamp,
    ) -> Result<()> {
        self.store.probe_passed(tenant, id, generation, now).await
    }
}

/// A worker with one slot whose results are not written.
fn worker(stage: &Stage, stuck: &Arc<Stuck>) -> Arc<EmbeddedWorker> {
    let settings = WorkerSettings {
        per_webhook: 1,
        ..WorkerSettings::default()
    };
    let store: Arc<dyn AttemptStore> = Arc::clone(stuck) as _;
    stage.embedded_worker_writing_to(store, &settings)
}

#[tokio::test]
async fn a_delivery_begins_before_the_result_of_the_one_before_it_is_written() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let ids = [stage.publish(webhook).await, stage.publish(webhook).await];
    let stuck = Stuck::over(&stage);
    let worker = worker(&stage, &stuck);
    for held in 1..=2 {
        assert_eq!(worker.cycle().await.unwrap().started, 1);
        stuck.holds(held).await;
    }
    assert_eq!(worker.cycle().await.unwrap().started, 0, "both are held");
    stuck.write();
    worker.idle().await;
    for id in ids {
        let row = stage.row(id).await;
        assert_eq!((row.status, row.attempts_total), (Status::Delivered, 1));
    }
    assert_eq!(stage.receiver.requests().len(), 2);
}

/// It may stop or limit its webhook.
#[tokio::test]
async fn no_delivery_begins_before_a_failure_is_written() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    for _ in 0..2 {
        stage.publish(webhook).await;
    }
    stage.receiver.answer(Answer::status(500));
    let stuck = Stuck::over(&stage);
    let worker = worker(&stage, &stuck);
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    stuck.holds(1).await;
    assert_eq!(worker.cycle().await.unwrap().started, 0);
    stuck.write();
    worker.idle().await;
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    worker.idle().await;
}

#[tokio::test]
async fn a_worker_ends_only_when_every_result_is_written() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let id = stage.publish(webhook).await;
    let stuck = Stuck::over(&stage);
    let worker = worker(&stage, &stuck);
    assert_eq!(worker.cycle().await.unwrap().started, 1);
    stuck.holds(1).await;
    assert!(worker.idle().now_or_never().is_none());
    assert!(worker.finish().now_or_never().is_none());
    stuck.write();
    worker.finish().await;
    assert_eq!(stage.row(id).await.status, Status::Delivered);
}
