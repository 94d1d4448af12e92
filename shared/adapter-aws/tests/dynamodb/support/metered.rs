//! The life of a delivery, with the cost of each step.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use postrider_adapter_aws::dynamodb::{DynamoStore, Follower};
use postrider_domain::attempt::{Attempt, Verdict};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Completion};
use postrider_domain::event::{Event, Label};
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_domain::outcome::{Answer, KEPT_BODY_BYTES, Outcome, Response, Timings};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Applied, Claim};
use postrider_testkit::bodies::Family;
use postrider_testkit::builders::NOW;
use postrider_testkit::store_suite::{Fixture, Handle, Scene, WaitingRows};

use super::{Dynamo, Meter, Spent, fixture};

/// A typical receiver.
const URL: &str = "https://hooks.example.com/tenants/4711/webhooks/incoming";

/// A store with a webhook; every call is metered.
pub(crate) struct Metered {
    pub(crate) tables: Dynamo,
    pub(crate) scene: Scene,
    pub(crate) meter: Meter,
    pub(crate) webhook: WebhookId,
    store: Arc<DynamoStore>,
    follower: Follower,
}

fn handle_of(store: Arc<DynamoStore>) -> Handle {
    Handle {
        store,
        process: "i-0123456789abcdef0:4f1c2a9e".to_owned(),
        embedded: None,
        waiting_rows: WaitingRows::InBacklog,
    }
}

impl Metered {
    pub(crate) async fn start() -> Self {
        let tables = fixture().await;
        let webhook = Scene::of(tables.handle()).webhook().await.id;
        let meter = Meter::default();
        let config = tables.config().interceptor(meter.clone());
        let store = tables.store_with(Client::from_conf(config.build()));
        Self {
            follower: Follower::of(Arc::clone(&store)),
            scene: Scene::of(handle_of(Arc::clone(&store))),
            store,
            tables,
            meter,
            webhook,
        }
    }

    /// Another handle to the same store.
    pub(crate) fn handle(&self) -> Handle {
        handle_of(Arc::clone(&self.store))
    }

    /// Accepts an event with GitHub's JSON of this size.
    pub(crate) async fn accept(
        &self,
        session: Option<Label>,
        body_bytes: usize,
    ) -> (DeliveryId, Spent) {
        self.accept_family(session, Family::GitHub, body_bytes)
            .await
    }

    /// Accepts an event with a body of this kind and size.
    pub(crate) async fn accept_family(
        &self,
        session: Option<Label>,
        family: Family,
        body_bytes: usize,
    ) -> (DeliveryId, Spent) {
        let event = Event {
            session_id: session,
            body: family.body(1, body_bytes),
            ..self.scene.event(NOW)
        };
        let id = DeliveryId {
            event: event.id,
            webhook: self.webhook,
        };
        let mut acceptance = self.scene.plan(event, &[self.webhook]).await;
        for new in &mut acceptance.rows {
            URL.clone_into(&mut new.target_url);
            new.signature.clear();
        }
        self.meter.take();
        self.scene.accept_new(acceptance).await;
        (id, self.meter.take())
    }

    /// What follows from the changes since the last call.
    pub(crate) async fn follow(&self) -> Spent {
        let changes = self.tables.changes().await;
        self.meter.take();
        for followed in self.follower.follow(changes, NOW).await {
            followed.unwrap();
        }
        self.meter.take()
    }

    pub(crate) async fn look(&self, id: DeliveryId) -> Spent {
        self.meter.take();
        self.scene.stored(id).await;
        self.meter.take()
    }

    pub(crate) async fn claim(&self, id: DeliveryId, now: Timestamp) -> (Claimed, Spent) {
        self.meter.take();
        let claimed = self.scene.claimed(id, now).await;
        (claimed, self.meter.take())
    }

    pub(crate) async fn claim_from_backlog(
        &self,
        id: DeliveryId,
        now: Timestamp,
    ) -> (Claimed, Spent) {
        self.meter.take();
        let claim = self.scene.try_drain(id, now).await;
        let Claim::Claimed(delivery) = claim else {
            panic!("{claim:?}");
        };
        (delivery.claimed, self.meter.take())
    }

    /// Ends an attempt with the longest response that is kept.
    pub(crate) async fn apply(
        &self,
        claimed: &Claimed,
        transition: Transition,
        now: Timestamp,
    ) -> Spent {
        let completion = completion(claimed, transition, now);
        self.meter.take();
        let applied = self.scene.apply(claimed, completion, now).await;
        assert!(matches!(applied, Ok(Applied::Done(_))));
        self.meter.take()
    }

    /// Claims and ends an attempt; returns the write units of both.
    pub(crate) async fn attempt(
        &self,
        id: DeliveryId,
        transition: Transition,
        now: Timestamp,
    ) -> f64 {
        let (claimed, claim) = self.claim(id, now).await;
        claim.writes + self.apply(&claimed, transition, now).await.writes
    }
}

fn completion(claimed: &Claimed, transition: Transition, now: Timestamp) -> Completion {
    let (status, verdict) = match transition {
        Transition::Deliver => (200, Verdict::Success),
        Transition::Retry { .. } | Transition::Die { .. } => (503, Verdict::Failure),
    };
    let response = Response {
        status,
        retry_after: None,
        control: None,
        content_type: None,
        body: "ü".repeat(KEPT_BODY_BYTES / 2),
    };
    let timings = Timings {
        dns_ms: Some(31),
        connect_ms: Some(142),
        tls_ms: Some(287),
        first_byte_ms: Some(1_960),
        body_ms: Some(11),
        total_ms: 2_431,
    };
    let outcome = Outcome {
        result: Answer::Response(response),
        timings,
    };
    let number = claimed.delivery().attempts_total + 1;
    Completion {
        attempt: Attempt::record(number, claimed.version(), now, &outcome, verdict),
        transition,
        target_url: URL.to_owned(),
        signature: format!("sha256={}", "5e".repeat(32)),
        generation: 0,
    }
}
