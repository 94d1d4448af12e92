//! Sealed values that a client stores and sends back, and whether the store works.

use postrider_domain::ids::TenantId;
use postrider_ports::sessions::SessionId;

use super::{Fixture, Scene};
use crate::builders::after;

const PURPOSE: &str = "test";

/// A session that starts in one process is valid in every other.
pub async fn another_process_opens_a_sealed_value(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let sealed = scene.seal(&scene.tenant, PURPOSE.into(), "text".into());
    let sealed = sealed.await.unwrap();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    assert!(sealed.chars().all(plain) && !sealed.contains("text"));
    let another = fixture.another_process().await.store;
    let opened = another.unseal(&scene.tenant, PURPOSE.into(), sealed.clone());
    assert_eq!(opened.await, Ok(Some("text".to_owned())));
    let for_another = another.unseal(&scene.tenant, "else".into(), sealed);
    assert_eq!(for_another.await, Ok(None));
}

/// Also for a tenant that the store does not know.
pub async fn a_forged_value_does_not_open(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let stranger: TenantId = "stranger".parse().unwrap();
    for tenant in [&scene.tenant, &stranger] {
        for made_up in ["", "abc", "%", &"A".repeat(100)] {
            let opened = scene.unseal(tenant, PURPOSE.into(), made_up.to_owned());
            assert_eq!(opened.await, Ok(None), "{made_up}");
        }
    }
}

/// In every process, and for this session only.
pub async fn a_session_that_was_ended_stays_ended(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let stranger: TenantId = "stranger".parse().unwrap();
    let (ended, other) = (SessionId([7; 16]), SessionId([8; 16]));
    for _ in 0..2 {
        let end = scene.end_session(&scene.tenant, ended, after(3_600));
        end.await.unwrap();
    }
    let another = fixture.another_process().await.store;
    assert_eq!(another.has_ended(&scene.tenant, ended).await, Ok(true));
    assert_eq!(another.has_ended(&scene.tenant, other).await, Ok(false));
    assert_eq!(another.has_ended(&stranger, ended).await, Ok(false));
}

pub async fn a_working_store_says_so(fixture: impl Fixture) {
    let store = fixture.handle().store;
    assert_eq!(store.check().await, Ok(()));
    assert!(store.is_alive());
}
