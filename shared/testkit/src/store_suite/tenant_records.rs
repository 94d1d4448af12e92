//! Records of tenants: names and limits.

use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::tenant::{Tenant, TenantDraft, TenantLimits};
use postrider_ports::configs::{Changed, Created};
use postrider_ports::deliveries::Accepted;

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

pub async fn a_record_comes_back_as_it_was_stored(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let id = scene.tenant.clone();
    assert_eq!(scene.tenant(&id).await, Ok(None));
    let default = TenantId::default();
    let unrecorded = Tenant::unrecorded(default.clone());
    assert_eq!(scene.tenant(&default).await, Ok(Some(unrecorded)));
    let record = record(&id, all_limits());
    assert_eq!(
        scene.put_tenant(record.clone(), None).await,
        Ok(Changed::Done)
    );
    assert_eq!(scene.tenant(&id).await, Ok(Some(record)));
}

/// A record that exists cannot be created again.
pub async fn a_change_based_on_an_old_record_is_rejected(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let first = record(&scene.tenant, all_limits());
    scene.put_tenant(first.clone(), None).await.unwrap();
    let second = first
        .changed(&draft(TenantLimits::default()), after(1))
        .unwrap();
    for (seen, changed) in [
        (None, Changed::Outdated),
        (Some(after(9)), Changed::Outdated),
        (first.updated_at(), Changed::Done),
        (first.updated_at(), Changed::Outdated),
    ] {
        let put = scene.put_tenant(second.clone(), seen).await;
        assert_eq!(put, Ok(changed), "{seen:?}");
    }
    assert_eq!(scene.tenant(&scene.tenant).await, Ok(Some(second)));
}

/// So a publisher that planned with the old limits plans again.
pub async fn a_record_makes_plans_outdated_and_comes_with_the_webhooks(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let acceptance = scene.plan(scene.event(NOW), &[webhook.id]).await;
    let before = scene.webhooks(&scene.tenant).await.unwrap();
    assert_eq!(before.tenant, None);
    let record = record(&scene.tenant, all_limits());
    scene.put_tenant(record.clone(), None).await.unwrap();
    let accepted = scene.accept_one(acceptance).await;
    assert_eq!(accepted, Ok(Accepted::Outdated));
    let after = scene.webhooks(&scene.tenant).await.unwrap();
    assert!(after.version > before.version);
    assert_eq!(after.tenant, Some(record));
}

pub async fn tenants_with_and_without_a_record_are_listed_page_by_page(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    Scene::of_tenant(fixture.handle(), "with-webhook")
        .webhook()
        .await;
    let key = ApiKey {
        id: KeyId::from_bytes([1; 16]),
        tenant: "a-key".parse().unwrap(),
        name: "key".to_owned(),
        scopes: vec![Scope::Publish],
        digest: KeyDigest::of("token"),
        created_at: NOW,
        last_used_at: None,
    };
    scene.put_key(key).await.unwrap();
    let id = "recorded".parse().unwrap();
    let record = record(&id, all_limits());
    scene.put_tenant(record.clone(), None).await.unwrap();
    let expected = [
        Tenant::unrecorded("a-key".parse().unwrap()),
        Tenant::unrecorded(TenantId::default()),
        record,
        Tenant::unrecorded("with-webhook".parse().unwrap()),
    ];
    for limit in 1..=5 {
        let mut found: Vec<Tenant> = Vec::new();
        loop {
            let last = found.last().map(|tenant| tenant.id.clone());
            let page = scene.tenant_page(limit, last.as_ref()).await.unwrap();
            let is_last = page.len() < limit;
            found.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!(found, expected, "{limit} per page");
    }
}

/// Also one whose key became another tenant's.
pub async fn a_tenant_whose_last_key_is_revoked_still_exists(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let key = |tenant: &str, n| ApiKey {
        id: KeyId::from_bytes([n; 16]),
        tenant: tenant.parse().unwrap(),
        name: "key".to_owned(),
        scopes: vec![Scope::Publish],
        digest: KeyDigest::of("token"),
        created_at: NOW,
        last_used_at: None,
    };
    let (first, second) = (key("acme", 1), key("zeta", 2));
    for key in [&first, &second] {
        scene.put_key(key.clone()).await.unwrap();
    }
    let revoked = scene.revoke_key(&second.tenant, second.id).await;
    assert_eq!(revoked, Ok(true));
    let expected = [first.tenant, TenantId::default(), second.tenant].map(Tenant::unrecorded);
    assert_eq!(scene.tenant_page(9, None).await.unwrap(), expected);
    for tenant in expected {
        let found = scene.tenant(&tenant.id).await;
        assert_eq!(found, Ok(Some(tenant)));
    }
}

pub async fn a_tenant_has_as_many_webhooks_as_its_record_allows(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let two = TenantLimits {
        webhooks: Some(2),
        ..TenantLimits::default()
    };
    let limited = record(&scene.tenant, two);
    scene.put_tenant(limited.clone(), None).await.unwrap();
    let (first, _) = (scene.webhook().await, scene.webhook().await);
    let third = builders::webhook(&scene.tenant, scene.draw());
    let version = scene.version().await;
    assert_eq!(
        scene.create_webhook(third.clone()).await,
        Ok(Created::TooMany)
    );
    assert_eq!(scene.version().await, version);
    assert_eq!(
        scene.webhooks(&scene.tenant).await.unwrap().webhooks.len(),
        2
    );
    scene
        .delete_webhook(&scene.tenant, first.id, NOW)
        .await
        .unwrap();
    assert_eq!(scene.create_webhook(third).await, Ok(Created::Done));
    let other = Scene::of_tenant(fixture.handle(), "other");
    for _ in 0..3 {
        other.webhook().await;
    }
}

fn draft(limits: TenantLimits) -> TenantDraft {
    TenantDraft {
        name: "Acme".to_owned(),
        limits,
    }
}

fn record(id: &TenantId, limits: TenantLimits) -> Tenant {
    let tenant = Tenant::unrecorded(id.clone());
    tenant.changed(&draft(limits), NOW).unwrap()
}

const fn all_limits() -> TenantLimits {
    TenantLimits {
        webhooks: Some(20),
        publish_rate: Some(50),
        max_body_bytes: Some(65_536),
        retention_days: Some(7),
    }
}
