//! A webhook is resumed while another process works with its earlier state: at whatever call, no row is left behind.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use futures_util::future::BoxFuture;
use postrider_adapter_aws::dynamodb::DynamoStore;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, WebhookId};
use postrider_ports::deliveries::{Accepted, Claim, Deliveries};
use postrider_testkit::builders::NOW;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::gate::Gate;
use crate::support::{Dynamo, fixture};

/// More calls than any of them makes.
const CALLS: usize = 20;

/// Runs `work` up to its `n`-th call, resumes the webhook, then lets `work` continue. Returns its
/// result, and whether it made that call.
async fn resumed_before<T: Send + 'static>(
    (tables, scene): (&Dynamo, &Scene),
    n: usize,
    webhook: WebhookId,
    work: impl FnOnce(Arc<DynamoStore>) -> BoxFuture<'static, T>,
) -> (T, bool) {
    let (gate, key) = Gate::before(n);
    let config = tables.config().interceptor(gate.clone()).build();
    let mut work = tokio::spawn(work(tables.store_with(Client::from_conf(config))));
    tokio::select! {
        done = &mut work => return (done.unwrap(), false),
        () = gate.reached() => {}
    }
    scene.set_status(webhook, WebhookStatus::Active).await;
    key.open();
    (work.await.unwrap(), true)
}

/// A message can claim it, or it is in the backlog, which is registered.
async fn reaches_a_worker(scene: &Scene, webhook: WebhookId, id: DeliveryId) -> bool {
    let registered = scene.registration(&scene.tenant, webhook).await;
    let is_in_backlog = scene.stored(id).await.in_backlog;
    !is_in_backlog || registered.unwrap().is_some()
}

async fn failed(scene: &Scene) -> (WebhookId, DeliveryId) {
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    scene.set_status(webhook, WebhookStatus::Failed).await;
    (webhook, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_concurrent_claim_leaves_no_row_behind() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    for n in 0..CALLS {
        let (webhook, id) = failed(&scene).await;
        let wanted = scene.wanted(id, NOW);
        let claim = |store: Arc<DynamoStore>| -> BoxFuture<'static, _> {
            Box::pin(async move { store.claim(vec![wanted], NOW).await.remove(0) })
        };
        let (claim, was_interrupted) = resumed_before((&tables, &scene), n, webhook, claim).await;
        if !was_interrupted {
            assert!(n >= 3, "it reads the state and the row, and parks the row");
            return;
        }
        assert!(
            reaches_a_worker(&scene, webhook, id).await,
            "{n}: {claim:?}"
        );
        assert!(!matches!(claim, Ok(Claim::Missing | Claim::WebhookDeleted)));
    }
    panic!("more than {CALLS} calls");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_concurrent_accept_leaves_no_row_behind() {
    let tables = fixture().await;
    let scene = Scene::of(tables.handle());
    for n in 0..CALLS {
        let (webhook, _) = failed(&scene).await;
        let acceptance = scene.plan(scene.event(NOW), &[webhook]).await;
        let id = acceptance.rows[0].id;
        let accept = |store: Arc<DynamoStore>| -> BoxFuture<'static, _> {
            Box::pin(async move { store.accept(vec![acceptance]).await.remove(0) })
        };
        let (accepted, was_interrupted) =
            resumed_before((&tables, &scene), n, webhook, accept).await;
        if !was_interrupted {
            assert!(
                n >= 3,
                "it reads the version, and writes the event and the row"
            );
            return;
        }
        assert!(matches!(accepted, Ok(Accepted::New)), "{accepted:?}");
        assert!(reaches_a_worker(&scene, webhook, id).await, "{n}");
    }
    panic!("more than {CALLS} calls");
}
