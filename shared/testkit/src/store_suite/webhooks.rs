//! Webhooks, their secrets and their version.

use postrider_domain::flow::Ramp;
use postrider_domain::headers::CustomHeaders;
use postrider_domain::health::{StatusReason, WebhookStatus};
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::secret::SigningSecret;
use postrider_domain::time::Millis;
use postrider_domain::webhook::{MAX_WEBHOOKS, Webhook, WebhookSettings};
use postrider_ports::configs::{Changed, Created, WebhookChange};

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after, webhook_id};

/// Every field, in the list and alone.
pub async fn a_webhook_comes_back_as_it_was_stored(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    assert_eq!(scene.version().await, 0);
    let rich = Webhook {
        settings: rich_settings(),
        ..builders::webhook(&scene.tenant, 1)
    };
    let plain = builders::webhook(&scene.tenant, 2);
    for webhook in [&plain, &rich] {
        let created = scene.create_webhook(webhook.clone()).await;
        assert_eq!(created, Ok(Created::Done));
        let found = scene.handle.store.webhook(&scene.tenant, webhook.id).await;
        assert_eq!(found, Ok(Some(webhook.clone())));
    }
    let list = scene.webhooks(&scene.tenant).await.unwrap();
    assert_eq!(list.webhooks, [rich, plain]);
    assert_eq!(list.version, scene.version().await);
}

/// A rotation with the previous secret.
pub async fn secrets_and_headers_survive_a_change(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let next = SigningSecret::from_key(&[9; 32]);
    let change = WebhookChange {
        seen: webhook.updated_at,
        settings: rich_settings(),
        secrets: webhook.secrets.rotated(next, after(5)).unwrap(),
        updated_at: after(5),
    };
    let changed = scene.change_webhook(&scene.tenant, webhook.id, change.clone());
    assert_eq!(changed.await, Ok(Changed::Done));
    let found = scene.handle.store.webhook(&scene.tenant, webhook.id).await;
    let expected = Webhook {
        settings: change.settings,
        secrets: change.secrets,
        updated_at: after(5),
        ..webhook
    };
    assert_eq!(found, Ok(Some(expected)));
}

/// Of two writers that read the same version, one must read again.
pub async fn a_change_based_on_an_old_version_is_rejected(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let change = |name: &str, n| WebhookChange {
        seen: NOW,
        settings: WebhookSettings {
            name: name.to_owned(),
            ..webhook.settings.clone()
        },
        secrets: webhook.secrets.clone(),
        updated_at: after(n),
    };
    let id = webhook.id;
    let first = scene.change_webhook(&scene.tenant, id, change("first", 1));
    assert_eq!(first.await, Ok(Changed::Done));
    let version = scene.version().await;
    let second = scene.change_webhook(&scene.tenant, id, change("second", 2));
    assert_eq!(second.await, Ok(Changed::Outdated));
    assert_eq!(scene.version().await, version);
    let found = scene.handle.store.webhook(&scene.tenant, id).await;
    assert_eq!(found.unwrap().unwrap().settings.name, "first");
}

/// Each change of what is planned makes older plans outdated.
pub async fn every_change_raises_the_version(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let mut versions = vec![scene.version().await];
    let webhook = scene.webhook().await;
    versions.push(scene.version().await);
    let change = WebhookChange {
        seen: webhook.updated_at,
        settings: webhook.settings,
        secrets: webhook.secrets,
        updated_at: after(1),
    };
    let changed = scene.change_webhook(&scene.tenant, webhook.id, change);
    changed.await.unwrap();
    versions.push(scene.version().await);
    for status in [WebhookStatus::Disabled, WebhookStatus::Active] {
        scene.set_status(webhook.id, status).await;
        versions.push(scene.version().await);
    }
    let deleted = scene.delete_webhook(&scene.tenant, webhook.id, NOW).await;
    assert_eq!(deleted, Ok(true));
    versions.push(scene.version().await);
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    let list = scene.webhooks(&scene.tenant).await.unwrap();
    assert!(list.webhooks.is_empty() && list.version == versions[5]);
}

/// Otherwise each failure would make every plan outdated; a webhook that is disabled does.
pub async fn a_failure_count_does_not_raise_the_version(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let version = scene.version().await;
    scene.failed(webhook).await;
    scene.delivered(webhook).await;
    fixture.flush().await;
    assert_eq!(scene.version().await, version);
    let id = scene.row(webhook).await;
    let gone = super::scene::die(postrider_domain::delivery::DeadCause::Gone);
    scene.attempt(id, gone, NOW).await;
    fixture.flush().await;
    assert!(scene.version().await > version);
}

/// And another one after one is deleted.
pub async fn a_tenant_has_at_most_a_thousand_webhooks(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let count = u32::try_from(MAX_WEBHOOKS).unwrap();
    for n in 0..count {
        let created = scene.create_webhook(builders::webhook(&scene.tenant, n));
        assert_eq!(created.await, Ok(Created::Done));
    }
    let one_more = builders::webhook(&scene.tenant, count);
    let refused = scene.create_webhook(one_more.clone()).await;
    assert_eq!(refused, Ok(Created::TooMany));
    let list = scene.webhooks(&scene.tenant).await.unwrap();
    assert_eq!(list.webhooks.len(), MAX_WEBHOOKS);
    let other = Scene::of_tenant(fixture.handle(), "other");
    other.webhook().await;
    let deleted = scene.delete_webhook(&scene.tenant, webhook_id(3), NOW);
    assert_eq!(deleted.await, Ok(true));
    assert_eq!(scene.create_webhook(one_more).await, Ok(Created::Done));
}

/// The second call changes nothing and sends no notification.
pub async fn a_status_is_set_once(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let id = scene.webhook().await.id;
    let set = async |status, at| {
        let set = scene.set_webhook_status(&scene.tenant, id, status, at);
        set.await.unwrap().unwrap()
    };
    let paused = set(WebhookStatus::Paused, after(1)).await;
    assert_eq!(
        (paused.status, paused.generation, paused.changed_at),
        (WebhookStatus::Paused, 1, Some(after(1)))
    );
    assert_eq!(paused.reason, Some(StatusReason::PausedByOperator));
    let version = scene.version().await;
    assert_eq!(set(WebhookStatus::Paused, after(2)).await, paused);
    assert_eq!(scene.version().await, version);
    let active = set(WebhookStatus::Active, after(3)).await;
    assert_eq!(scene.health(id).await, active);
    set(WebhookStatus::Active, after(4)).await;
    set(WebhookStatus::Disabled, after(5)).await;
    fixture.flush().await;
    assert_eq!(
        scene.notification_kinds().await,
        ["webhook.paused", "webhook.resumed", "webhook.disabled"]
    );
}

pub async fn a_change_of_settings_is_notified_once(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let change = WebhookChange {
        seen: webhook.updated_at,
        settings: webhook.settings,
        secrets: webhook.secrets,
        updated_at: after(1),
    };
    let apply = || scene.change_webhook(&scene.tenant, webhook.id, change.clone());
    assert_eq!(apply().await, Ok(Changed::Done));
    assert_eq!(apply().await, Ok(Changed::Outdated));
    // A later change of the state does not report the settings again.
    scene.set_status(webhook.id, WebhookStatus::Paused).await;
    fixture.flush().await;
    let kinds = scene.notification_kinds().await;
    assert_eq!(kinds, ["webhook.updated", "webhook.paused"]);
    let notifications = scene.notifications().await;
    let event: serde_json::Value = serde_json::from_str(&notifications[0].event).unwrap();
    assert_eq!(event["data"]["webhook_id"], webhook.id.to_string());
    assert_eq!(event["data"]["status"], "active");
    assert_eq!(event["time"], after(1).to_string());
}

/// And no others.
pub async fn failed_webhooks_of_all_tenants_are_counted(fixture: impl Fixture) {
    let scenes = ["a", "b"].map(|tenant| Scene::of_tenant(fixture.handle(), tenant));
    for (scene, status) in [
        (&scenes[0], WebhookStatus::Failed),
        (&scenes[0], WebhookStatus::Active),
        (&scenes[1], WebhookStatus::Paused),
        (&scenes[1], WebhookStatus::Failed),
        (&scenes[1], WebhookStatus::Failed),
    ] {
        let webhook = scene.webhook().await.id;
        scene.set_status(webhook, status).await;
    }
    assert_eq!(scenes[0].failed_webhooks().await, Ok(3));
}

/// For every operation.
pub async fn an_unknown_webhook_is_missing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let known = builders::webhook(&scene.tenant, 1);
    let id = known.id;
    let found = scene.handle.store.webhook(&scene.tenant, id).await;
    assert_eq!(found, Ok(None));
    let change = WebhookChange {
        seen: NOW,
        settings: known.settings,
        secrets: known.secrets,
        updated_at: after(1),
    };
    let changed = scene.change_webhook(&scene.tenant, id, change).await;
    assert_eq!(changed, Ok(Changed::Missing));
    assert_eq!(scene.set_status(id, WebhookStatus::Paused).await, None);
    let deleted = scene.delete_webhook(&scene.tenant, id, NOW).await;
    assert_eq!(deleted, Ok(false));
    assert_eq!(scene.version().await, 0);
}

fn rich_settings() -> WebhookSettings {
    let headers = [("authorization", "Bearer 1+1=2"), ("x-env", "a \"b\" \\c")];
    WebhookSettings {
        name: "Ünïcode ‹name›".to_owned(),
        target_url: "https://example.com:8443/a?b=c%20d".parse().unwrap(),
        event_types: vec!["task.*".parse().unwrap(), "a.**".parse().unwrap()],
        filter: Some(builders::rich_filter()),
        template: Some(builders::rich_template()),
        owner_email: Some("owner@example.com".to_owned()),
        headers: CustomHeaders::parse(headers).unwrap(),
        timeout: Millis::from_seconds(30),
        retry_rate: 77,
        max_rate: Some(300),
        max_in_flight: Some(7),
        auto_resume: true,
        retry: RetrySettings {
            profile: Profile::Custom,
            delays_seconds: Some(vec![1, 2, 3]),
            jitter_bps: Some(5),
            retry_ramp: Some(Ramp::On),
            ..RetrySettings::default()
        },
    }
}
