//! A clock that is a day ahead for one call, then right again: nothing waits for that day.

use postrider_domain::key::Scope;
use postrider_domain::time::{Millis, Timestamp};
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_testkit::builders::{NOW, after};

use crate::stage::{Stage, tenant};

const TOMORROW: Timestamp = NOW.plus(Millis::from_seconds(86_400));

#[tokio::test]
async fn a_change_of_webhooks_is_seen_although_the_cache_was_checked_tomorrow() {
    let stage = Stage::set().await;
    let webhook = stage.webhook().await;
    let cache = WebhookCache::new(stage.ports.store.clone());
    let snapshot = cache.recent(&tenant(), TOMORROW).await.unwrap();
    assert!(snapshot.get(webhook).is_some());
    let manage = &stage.gateway.manage;
    manage.delete(&tenant(), webhook).await.unwrap();
    let snapshot = cache.recent(&tenant(), after(1)).await.unwrap();
    assert!(snapshot.get(webhook).is_none());
}

#[tokio::test]
async fn the_use_of_a_key_is_recorded_although_it_was_last_used_tomorrow() {
    let stage = Stage::set().await;
    let keyring = &stage.gateway.keyring;
    let created = keyring.create(&tenant(), "key", vec![Scope::Read]).await;
    let token = created.unwrap().token;
    stage.clock.set(TOMORROW);
    keyring.recognise(&token).await.unwrap().unwrap();
    stage.clock.set(after(1));
    keyring.recognise(&token).await.unwrap().unwrap();
    let keys = keyring.list(&tenant()).await.unwrap();
    assert_eq!(keys[0].last_used_at, Some(after(1)));
}
