//! Sources, their secrets and their events.

use postrider_domain::event::Origin;
use postrider_domain::route::Route;
use postrider_domain::secret::SharedSecret;
use postrider_domain::source::{MAX_SOURCES, Source, SourceSettings};
use postrider_ports::configs::{Changed, Created};
use postrider_ports::sources::SourceChange;

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after, source_id, webhook_id};

/// Every field: in the list, alone, and by the id that a sender uses.
pub async fn a_source_comes_back_as_it_was_stored(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let rich = Source {
        settings: rich_settings(),
        ..builders::source(&scene.tenant, 1)
    };
    let plain = builders::source(&scene.tenant, 2);
    for source in [&plain, &rich] {
        let created = scene.create_source(source.clone()).await;
        assert_eq!(created, Ok(Created::Done));
        let found = scene.source(&scene.tenant, source.id).await;
        assert_eq!(found, Ok(Some(source.clone())));
        assert_eq!(scene.source_by_id(source.id).await, found);
    }
    let found = scene.sources(&scene.tenant).await;
    assert_eq!(found, Ok(vec![rich, plain]));
}

/// A rotation with the previous secret, visible to the next request.
pub async fn secrets_of_a_source_survive_a_change(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let source = builders::source(&scene.tenant, 1);
    scene.create_source(source.clone()).await.unwrap();
    let next = SharedSecret::parse("the \"next\" \\ sécret").unwrap();
    let change = SourceChange {
        seen: source.updated_at,
        settings: rich_settings(),
        secrets: source.secrets.rotated(next, after(5)).unwrap(),
        updated_at: after(5),
    };
    let changed = scene.change_source(&scene.tenant, source.id, change.clone());
    assert_eq!(changed.await, Ok(Changed::Done));
    let expected = Source {
        settings: change.settings,
        secrets: change.secrets,
        updated_at: after(5),
        ..source
    };
    let found = scene.source_by_id(source.id).await;
    assert_eq!(found, Ok(Some(expected)));
}

/// Of two writers that read the same version, one must read again.
pub async fn a_change_based_on_an_old_version_is_rejected(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let source = builders::source(&scene.tenant, 1);
    scene.create_source(source.clone()).await.unwrap();
    let change = |name: &str, n| SourceChange {
        settings: SourceSettings {
            name: name.to_owned(),
            ..source.settings.clone()
        },
        ..unchanged(&source, n)
    };
    let first = scene.change_source(&scene.tenant, source.id, change("first", 1));
    assert_eq!(first.await, Ok(Changed::Done));
    let second = scene.change_source(&scene.tenant, source.id, change("second", 2));
    assert_eq!(second.await, Ok(Changed::Outdated));
    let found = scene.source(&scene.tenant, source.id).await;
    assert_eq!(found.unwrap().unwrap().settings.name, "first");
}

/// For every operation, including a deleted source.
pub async fn an_unknown_source_is_missing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let source = builders::source(&scene.tenant, 1);
    let missing = async || {
        let found = scene.source(&scene.tenant, source.id).await;
        assert_eq!(found, Ok(None));
        assert_eq!(scene.source_by_id(source.id).await, Ok(None));
        assert_eq!(scene.sources(&scene.tenant).await, Ok(Vec::new()));
        let change = unchanged(&source, 1);
        let changed = scene.change_source(&scene.tenant, source.id, change).await;
        assert_eq!(changed, Ok(Changed::Missing));
        let deleted = scene.delete_source(&scene.tenant, source.id).await;
        assert_eq!(deleted, Ok(false));
    };
    missing().await;
    scene.create_source(source.clone()).await.unwrap();
    let deleted = scene.delete_source(&scene.tenant, source.id).await;
    assert_eq!(deleted, Ok(true));
    missing().await;
}

/// Another tenant's id behaves exactly like an unknown one, except for a sender, which names no tenant.
pub async fn a_source_belongs_to_its_tenant(fixture: impl Fixture) {
    let ours = Scene::of(fixture.handle());
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    let source = builders::source(&theirs.tenant, 1);
    theirs.create_source(source.clone()).await.unwrap();
    let us = &ours.tenant;
    assert_eq!(ours.source(us, source.id).await, Ok(None));
    assert_eq!(ours.sources(us).await, Ok(Vec::new()));
    let changed = ours.change_source(us, source.id, unchanged(&source, 1));
    assert_eq!(changed.await, Ok(Changed::Missing));
    assert_eq!(ours.delete_source(us, source.id).await, Ok(false));
    assert_eq!(ours.source_by_id(source.id).await, Ok(Some(source)));
}

/// And another one after one is deleted.
pub async fn a_tenant_has_at_most_a_thousand_sources(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let count = u32::try_from(MAX_SOURCES).unwrap();
    for n in 0..count {
        let created = scene.create_source(builders::source(&scene.tenant, n));
        assert_eq!(created.await, Ok(Created::Done));
    }
    let one_more = builders::source(&scene.tenant, count);
    let refused = scene.create_source(one_more.clone()).await;
    assert_eq!(refused, Ok(Created::TooMany));
    let listed = scene.sources(&scene.tenant).await.unwrap();
    assert_eq!(listed.len(), MAX_SOURCES);
    let deleted = scene.delete_source(&scene.tenant, source_id(3)).await;
    assert_eq!(deleted, Ok(true));
    assert_eq!(scene.create_source(one_more).await, Ok(Created::Done));
}

/// Otherwise every publish would have to plan again when a source changes, which does not affect it.
pub async fn a_source_does_not_raise_the_version_of_webhooks(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    scene.webhook().await;
    let version = scene.version().await;
    let source = builders::source(&scene.tenant, 1);
    scene.create_source(source.clone()).await.unwrap();
    let changed = scene.change_source(&scene.tenant, source.id, unchanged(&source, 1));
    assert_eq!(changed.await, Ok(Changed::Done));
    scene.delete_source(&scene.tenant, source.id).await.unwrap();
    assert_eq!(scene.version().await, version);
}

/// With the fields that its route set on the row.
pub async fn an_event_keeps_the_source_it_came_from(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let mut event = scene.event(NOW);
    event.origin = Origin::Source(source_id(1));
    event.session_id = None;
    let mut acceptance = scene.plan(event.clone(), &[webhook]).await;
    let row = &mut acceptance.rows[0];
    row.session_id = Some("reviewer-cluster".parse().unwrap());
    row.intent = Some("code_review".parse().unwrap());
    let expected = row.clone();
    scene.accept_new(acceptance).await;
    let found = scene.handle.store.event(&scene.tenant, event.id).await;
    assert_eq!(*found.unwrap().unwrap(), event);
    let stored = scene.stored(expected.id).await;
    assert_eq!(
        (stored.session_id, stored.intent),
        (expected.session_id, expected.intent)
    );
}

fn unchanged(source: &Source, n: u64) -> SourceChange {
    SourceChange {
        seen: source.updated_at,
        settings: source.settings.clone(),
        secrets: source.secrets.clone(),
        updated_at: after(n),
    }
}

fn rich_settings() -> SourceSettings {
    SourceSettings {
        name: "Ünïcode ‹name›".to_owned(),
        public_url: Some("https://hooks.example:8443/a%20b".parse().unwrap()),
        routes: vec![
            Route {
                event_type: "pull_request.*".parse().unwrap(),
                filter: Some(builders::rich_filter()),
                intent: "code review".parse().unwrap(),
                target_session: Some("reviewer-cluster".parse().unwrap()),
                webhook_id: webhook_id(1),
            },
            Route {
                event_type: "**".parse().unwrap(),
                filter: None,
                intent: "archive".parse().unwrap(),
                target_session: None,
                webhook_id: webhook_id(2),
            },
        ],
        ..builders::source(&postrider_domain::ids::TenantId::default(), 1).settings
    }
}
