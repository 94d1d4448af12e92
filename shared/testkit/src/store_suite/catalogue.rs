//! The catalogue of event types.

use postrider_domain::event_catalogue::{CatalogueDraft, CatalogueEntry, Lifecycle};
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::Accepted;
use serde_json::json;

use super::{Fixture, Scene};
use crate::builders::{self, NOW};

fn entry(name: &str, at: Timestamp) -> CatalogueEntry {
    let draft = CatalogueDraft {
        description: Some(format!("Ünïcode ‹{name}›\n\"quoted\"")),
        group: Some("Orders & more".to_owned()),
        schema: Some(
            json!({"type": "object", "properties": {"n": {"maximum": 1e300, "const": 0.5}}}),
        ),
        examples: vec![json!({"n": 18_446_744_073_709_551_615_u64}), json!(null)],
        lifecycle: Lifecycle::Deprecated,
    };
    draft.check(name.parse().unwrap(), at).unwrap()
}

pub async fn an_event_type_is_kept_replaced_and_deleted(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let name = "order.paid/eu#1".parse().unwrap();
    let (store, tenant) = (&scene.handle.store, &scene.tenant);
    assert_eq!(store.event_type(tenant, &name).await, Ok(None));
    let first = entry(name.as_str(), NOW);
    store.put_event_type(tenant, first.clone()).await.unwrap();
    assert_eq!(store.event_type(tenant, &name).await, Ok(Some(first)));
    let second = CatalogueEntry {
        schema: None,
        examples: Vec::new(),
        description: None,
        ..entry(name.as_str(), NOW)
    };
    store.put_event_type(tenant, second.clone()).await.unwrap();
    assert_eq!(store.event_types(tenant).await, Ok(vec![second]));
    assert_eq!(store.delete_event_type(tenant, &name).await, Ok(true));
    assert_eq!(store.delete_event_type(tenant, &name).await, Ok(false));
    assert_eq!(store.event_types(tenant).await, Ok(Vec::new()));
}

pub async fn a_change_of_an_event_type_raises_the_version(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (store, tenant) = (&scene.handle.store, &scene.tenant);
    let other: TenantId = format!("{tenant}-y").parse().unwrap();
    let name = "order.paid".parse().unwrap();
    let before = scene.version().await;
    for _ in 0..2 {
        let version = scene.version().await;
        let put = store.put_event_type(tenant, entry("order.paid", NOW));
        put.await.unwrap();
        assert!(scene.version().await > version);
    }
    let version = scene.version().await;
    assert_eq!(store.delete_event_type(tenant, &name).await, Ok(true));
    assert!(scene.version().await > version);
    // Nothing was there, so nothing has changed.
    let version = scene.version().await;
    assert_eq!(store.delete_event_type(tenant, &name).await, Ok(false));
    assert_eq!(scene.version().await, version);
    assert_eq!(store.webhooks_version(&other).await, Ok(0));
    // An event that was planned before is planned again.
    let planned = builders::acceptance(scene.event(NOW), &[], before);
    let accepted = scene.accept_one(planned).await;
    assert!(matches!(accepted, Ok(Accepted::Outdated)), "{accepted:?}");
}

pub async fn event_types_are_listed_by_name_and_per_tenant(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (store, tenant) = (&scene.handle.store, &scene.tenant);
    let other: TenantId = format!("{tenant}-x").parse().unwrap();
    for name in ["b", "a.z", "a", "a.b"] {
        store
            .put_event_type(tenant, entry(name, NOW))
            .await
            .unwrap();
    }
    store.put_event_type(&other, entry("c", NOW)).await.unwrap();
    let names = async |tenant: &TenantId| {
        let all = store.event_types(tenant).await.unwrap();
        let names = all.into_iter().map(|entry| entry.name.as_str().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(tenant).await, ["a", "a.b", "a.z", "b"]);
    assert_eq!(names(&other).await, ["c"]);
    let name = "a".parse().unwrap();
    assert_eq!(store.delete_event_type(&other, &name).await, Ok(false));
    assert_eq!(names(tenant).await.len(), 4);
}

pub async fn the_largest_event_types_are_kept(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (store, tenant) = (&scene.handle.store, &scene.tenant);
    // Random enough that deflating does not help much.
    let noise: String = (0..16_000_u64)
        .map(|n| {
            char::from(b'!' + u8::try_from(n.wrapping_mul(n ^ 0x9e37_79b9) >> 7 & 0x3f).unwrap())
        })
        .filter(|c| *c != '"' && *c != '\\')
        .collect();
    let draft = CatalogueDraft {
        description: Some("ü".repeat(2000)),
        group: None,
        schema: Some(json!({"description": format!("{noise}{noise}")})),
        examples: vec![json!(noise); 5],
        lifecycle: Lifecycle::Current,
    };
    let largest = draft.check("large".parse().unwrap(), NOW).unwrap();
    store.put_event_type(tenant, largest.clone()).await.unwrap();
    assert_eq!(store.event_types(tenant).await, Ok(vec![largest]));
}
