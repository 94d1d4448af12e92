//! API keys.

use postrider_domain::ids::{KeyId, TenantId};
use postrider_domain::key::{ApiKey, KeyDigest, Scope};

use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// Without its tenant, which the lookup is there to find.
pub async fn a_key_is_found_by_its_digest(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let (ours, theirs) = (key(&scene.tenant, 1), key(&other.tenant, 2));
    for key in [&theirs, &ours] {
        scene.put_key(key.clone()).await.unwrap();
        assert_eq!(scene.key_by_digest(key.digest).await, Ok(Some(key.clone())));
    }
    let unknown = scene.key_by_digest(KeyDigest::of("unknown")).await;
    assert_eq!(unknown, Ok(None));
    let younger = ApiKey {
        created_at: after(1),
        ..key(&scene.tenant, 3)
    };
    scene.put_key(younger.clone()).await.unwrap();
    assert_eq!(scene.keys(&scene.tenant).await, Ok(vec![ours, younger]));
    assert_eq!(scene.keys(&other.tenant).await, Ok(vec![theirs]));
}

/// As when the first key is set again at each start.
pub async fn a_key_with_the_same_digest_is_replaced(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let first = key(&scene.tenant, 1);
    let second = ApiKey {
        id: KeyId::from_bytes([9; 16]),
        name: "renamed".to_owned(),
        scopes: vec![Scope::Read],
        ..first.clone()
    };
    scene.put_key(first).await.unwrap();
    scene.put_key(second.clone()).await.unwrap();
    let found = scene.key_by_digest(second.digest).await;
    assert_eq!(found, Ok(Some(second.clone())));
    assert_eq!(scene.keys(&scene.tenant).await, Ok(vec![second]));
}

/// Only its own tenant can revoke it.
pub async fn a_revoked_key_is_gone(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let key = key(&scene.tenant, 1);
    scene.put_key(key.clone()).await.unwrap();
    assert_eq!(scene.revoke_key(&other.tenant, key.id).await, Ok(false));
    assert_eq!(scene.revoke_key(&scene.tenant, key.id).await, Ok(true));
    assert_eq!(scene.revoke_key(&scene.tenant, key.id).await, Ok(false));
    assert_eq!(scene.key_by_digest(key.digest).await, Ok(None));
    assert_eq!(scene.keys(&scene.tenant).await, Ok(Vec::new()));
}

/// Of an existing key.
pub async fn the_last_use_is_recorded(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let key = key(&scene.tenant, 1);
    scene.put_key(key.clone()).await.unwrap();
    scene.touch_key(&key, after(60)).await.unwrap();
    let found = scene.key_by_digest(key.digest).await.unwrap().unwrap();
    assert_eq!(found.last_used_at, Some(after(60)));
    let replaced = ApiKey {
        id: KeyId::from_bytes([9; 16]),
        ..found.clone()
    };
    assert_eq!(scene.touch_key(&replaced, after(120)).await, Ok(()));
    assert_eq!(scene.keys(&scene.tenant).await, Ok(vec![found]));
}

fn key(tenant: &TenantId, n: u8) -> ApiKey {
    ApiKey {
        id: KeyId::from_bytes([n; 16]),
        tenant: tenant.clone(),
        name: format!("key {n}"),
        scopes: vec![Scope::Publish, Scope::Manage],
        digest: KeyDigest::of(&format!("token {n}")),
        created_at: NOW,
        last_used_at: None,
    }
}
