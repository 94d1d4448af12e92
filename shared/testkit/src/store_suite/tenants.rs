//! Tenants do not see each other.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Delivery, Force};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{JobId, KeyId};
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_ports::configs::{Changed, WebhookChange};
use postrider_ports::deliveries::{Accepted, Applied, Claim, Renewed};
use postrider_ports::history::Filter;
use postrider_ports::interventions::Requeued;
use postrider_ports::jobs::RetryJob;

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

/// Another tenant's id behaves exactly like an unknown one.
pub async fn no_operation_reaches_another_tenant(fixture: impl Fixture) {
    let ours = Scene::of(fixture.handle());
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    let webhook = theirs.webhook().await;
    let (open, dead) = (theirs.row(webhook.id).await, theirs.dead(webhook.id).await);
    let job = RetryJob::new(JobId::from_bytes([1; 16]), Filter::default(), NOW);
    theirs
        .create_job(&theirs.tenant, job.clone())
        .await
        .unwrap();
    let key = ApiKey {
        id: KeyId::from_bytes([1; 16]),
        tenant: theirs.tenant.clone(),
        name: "theirs".to_owned(),
        scopes: vec![Scope::Manage],
        digest: KeyDigest::of("theirs"),
        created_at: NOW,
        last_used_at: None,
    };
    theirs.put_key(key.clone()).await.unwrap();
    fixture.flush().await;
    let before = snapshot(&theirs).await;

    let store = &ours.handle.store;
    let us = &ours.tenant;
    assert_eq!(store.delivery(us, open).await, Ok(None));
    assert_eq!(store.event(us, open.event).await, Ok(None));
    assert_eq!(store.attempts(us, dead).await, Ok(Vec::new()));
    assert_eq!(ours.all(&Filter::default(), 10).await, []);
    let by_webhook = Filter {
        webhook_id: Some(webhook.id),
        ..Filter::default()
    };
    assert_eq!(ours.all(&by_webhook, 10).await, []);
    assert!(matches!(ours.try_claim(open, NOW).await, Claim::Missing));
    let requeued = store.requeue(us, dead, Force::Delivered, NOW).await;
    assert_eq!(requeued, Ok(Requeued::Missing));
    let stats = store.stats(us, Some(webhook.id), NOW.hour(), after(7_200));
    assert_eq!(stats.await, Ok(Vec::new()));
    assert_eq!(store.webhook(us, webhook.id).await, Ok(None));
    assert_eq!(store.webhooks(us).await.unwrap().webhooks, []);
    let change = WebhookChange {
        seen: webhook.updated_at,
        settings: webhook.settings.clone(),
        secrets: webhook.secrets.clone(),
        updated_at: after(1),
    };
    let changed = store.change_webhook(us, webhook.id, change).await;
    assert_eq!(changed, Ok(Changed::Missing));
    assert_eq!(
        ours.set_status(webhook.id, WebhookStatus::Disabled).await,
        None
    );
    assert_eq!(store.delete_webhook(us, webhook.id, NOW).await, Ok(false));
    assert_eq!(store.keys(us).await, Ok(Vec::new()));
    assert_eq!(store.revoke_key(us, key.id).await, Ok(false));
    let ours_by_name = ApiKey {
        tenant: us.clone(),
        ..key.clone()
    };
    store.touch_key(&ours_by_name, after(60)).await.unwrap();
    assert_eq!(store.job(us, job.id).await, Ok(None));
    assert_eq!(store.progress_job(us, job.clone()).await, Ok(None));
    assert_eq!(store.cancel_job(us, job.id).await, Ok(None));
    assert_eq!(ours.notifications().await, []);
    fixture.flush().await;
    assert_eq!(snapshot(&theirs).await, before);
}

async fn snapshot(scene: &Scene) -> String {
    let store = &scene.handle.store;
    let mut rows = scene.all(&Filter::default(), 100).await;
    rows.sort_by_key(|row| row.id);
    let webhooks = scene.webhooks(&scene.tenant).await.unwrap();
    let keys = scene.keys(&scene.tenant).await.unwrap();
    let jobs = store.unfinished_jobs().await.unwrap();
    let notifications = scene.notifications().await;
    format!("{rows:?} {webhooks:?} {keys:?} {jobs:?} {notifications:?}")
}

/// An idempotency key of one tenant never matches another tenant's.
pub async fn the_same_event_id_is_two_events(fixture: impl Fixture) {
    let ours = Scene::of(fixture.handle());
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    for scene in [&ours, &theirs] {
        let webhook = builders::webhook(&scene.tenant, 1);
        scene.create_webhook(webhook.clone()).await.unwrap();
        let event = builders::event(&scene.tenant, 5, NOW);
        let acceptance = scene.plan(event, &[webhook.id]).await;
        let id = acceptance.rows[0].id;
        let accepted = scene.accept_one(acceptance).await.unwrap();
        assert!(matches!(accepted, Accepted::New), "{accepted:?}");
        assert_eq!(scene.stored(id).await.tenant, scene.tenant);
    }
    let id = postrider_domain::ids::DeliveryId {
        event: builders::event_id(5),
        webhook: builders::webhook_id(1),
    };
    ours.claimed(id, NOW).await;
    assert_eq!(theirs.stored(id).await.lease_owner, None);
}

/// Not even one that names the row and its lease.
pub async fn a_claim_counts_only_for_its_tenant(fixture: impl Fixture) {
    let ours = Scene::of(fixture.handle());
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    let row = theirs.row(theirs.webhook().await.id).await;
    let claimed = theirs.claimed(row, NOW).await;
    let lease = builders::lease(&claimed.owner().process, claimed.owner().claim, after(20));
    let of_ours = Delivery {
        tenant: ours.tenant.clone(),
        ..claimed.delivery().clone()
    };
    let of_ours = of_ours.claim(&lease, NOW).unwrap();
    assert_eq!(ours.renew(&of_ours, after(40)).await, Ok(Renewed::Lost));
    assert_eq!(ours.give_back(&of_ours, NOW).await, Ok(()));
    let completion = builders::completion(&of_ours, Transition::Deliver, NOW);
    let applied = ours.apply(&of_ours, completion, NOW).await;
    assert_eq!(applied, Ok(Applied::Stale));
    assert_eq!(theirs.stored(row).await, *claimed.delivery());
}

/// A change of one tenant does not make another tenant's plan outdated.
pub async fn each_tenant_has_its_own_version_and_webhooks(fixture: impl Fixture) {
    let ours = Scene::of(fixture.handle());
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    let webhook = ours.webhook().await;
    let acceptance = ours.plan(ours.event(NOW), &[webhook.id]).await;
    let (before, _) = (theirs.version().await, theirs.webhook().await);
    assert_eq!(before, 0);
    ours.accept_new(acceptance).await;
    let list = ours.webhooks(&ours.tenant).await.unwrap();
    assert_eq!(list.webhooks, [webhook]);
}
