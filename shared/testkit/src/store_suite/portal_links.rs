//! Links to the portal.

use postrider_domain::key::{KeyDigest, Scope};
use postrider_domain::portal::PortalLink;
use postrider_domain::time::Millis;

use super::{Fixture, Scene};
use crate::builders::after;

fn link(n: u8) -> PortalLink {
    PortalLink {
        digest: KeyDigest([n; 32]),
        tenant: "acme".parse().unwrap(),
        scopes: vec![Scope::Read, Scope::Manage],
        issuer: KeyDigest([9; 32]),
        return_url: Some("https://app.example/settings".to_owned()),
        created_at: after(0),
        expires_at: after(300),
    }
}

/// In any process, and no other link is used up with it.
pub async fn a_portal_link_comes_back_once(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let plain = PortalLink {
        return_url: None,
        ..link(2)
    };
    for stored in [link(1), plain.clone()] {
        scene.add_portal_link(stored).await.unwrap();
    }
    let another = fixture.another_process().await.store;
    let used = another.use_portal_link(link(1).digest, after(1)).await;
    assert_eq!(used, Ok(Some(link(1))));
    for store in [&fixture.handle().store, &another] {
        let again = store.use_portal_link(link(1).digest, after(1)).await;
        assert_eq!(again, Ok(None));
    }
    let other = scene.use_portal_link(plain.digest, after(1)).await;
    assert_eq!(other, Ok(Some(plain)));
}

pub async fn one_of_two_concurrent_uses_wins(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let another = fixture.another_process().await.store;
    for n in 0..10 {
        scene.add_portal_link(link(n)).await.unwrap();
        let (digest, now) = (link(n).digest, after(1));
        let (one, other) = tokio::join!(
            scene.use_portal_link(digest, now),
            another.use_portal_link(digest, now)
        );
        let won = [one.unwrap(), other.unwrap()].into_iter().flatten();
        assert_eq!(won.collect::<Vec<_>>(), [link(n)]);
    }
}

/// To the millisecond.
pub async fn an_expired_portal_link_is_useless(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    scene.add_portal_link(link(1)).await.unwrap();
    let late = scene.use_portal_link(link(1).digest, after(300)).await;
    assert_eq!(late, Ok(None));
    let moment_before = after(300).minus(Millis::new(1));
    let in_time = scene.use_portal_link(link(1).digest, moment_before).await;
    assert_eq!(in_time, Ok(Some(link(1))));
}

pub async fn an_unknown_portal_link_is_missing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let unknown = scene.use_portal_link(link(1).digest, after(1)).await;
    assert_eq!(unknown, Ok(None));
    scene.add_portal_link(link(1)).await.unwrap();
    let known = scene.use_portal_link(link(1).digest, after(1)).await;
    assert_eq!(known, Ok(Some(link(1))));
}

/// In every process, and for this tenant only.
pub async fn an_ended_portal_is_remembered(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let another = fixture.another_process().await.store;
    assert_eq!(another.portal_ended_at(&scene.tenant).await, Ok(None));
    for at in [after(1), after(90)] {
        scene.end_portal(&scene.tenant, at).await.unwrap();
        let ended_at = another.portal_ended_at(&scene.tenant).await;
        assert_eq!(ended_at, Ok(Some(at)));
    }
    let stranger = "stranger".parse().unwrap();
    assert_eq!(another.portal_ended_at(&stranger).await, Ok(None));
}
