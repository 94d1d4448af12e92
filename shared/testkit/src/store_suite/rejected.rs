//! Rejected requests: stored up to a limit, with a notification.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use postrider_domain::ids::RejectedId;
use postrider_domain::inbound::{Inbound, Rejection};
use postrider_domain::rejected::{KEPT_FOR, PER_MINUTE, RING, RejectedRequest, StoredRejection};
use postrider_domain::source::Source;
use postrider_domain::time::{Millis, Timestamp};
use serde_json::Value;

use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

/// All of it, by its id and in the list.
pub async fn a_rejected_request_is_read_as_it_was_stored(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let mut request = request(b"\xff\x00 canary");
    request.query = Some("hub.mode=subscribe".to_owned());
    for value in [&b"sha256=00"[..], b"\xe4, second"] {
        let value = HeaderValue::from_bytes(value).unwrap();
        request.headers.append("x-webhook-signature", value);
    }
    let rejected = RejectedRequest::of(&source, request, Rejection::NoMatch, NOW);
    let large = Inbound {
        body: Bytes::from(vec![b'x'; 100_000]),
        ..Inbound::default()
    };
    let cut = RejectedRequest::of(&source, large, Rejection::OutOfWindow, after(1));
    assert!(cut.is_cut && !rejected.is_cut);
    let mut expected = Vec::new();
    for rejected in [rejected, cut] {
        let id = scene
            .store_rejected(rejected.clone())
            .await
            .unwrap()
            .unwrap();
        expected.insert(0, StoredRejection { id, rejected });
    }
    assert_eq!(listed(&scene, &source, 10).await, expected);
    assert_eq!(listed(&scene, &source, 1).await, expected[..1]);
    for kept in expected {
        assert_eq!(one(&scene, &source, kept.id, NOW).await, Some(kept));
    }
    let unknown = RejectedId::of(NOW, 1);
    assert_eq!(one(&scene, &source, unknown, NOW).await, None);
}

/// In the next minute there is room again.
pub async fn ten_per_minute_are_stored_and_the_others_counted(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let minute = NOW.as_seconds().rem_euclid(60).unsigned_abs();
    let next_minute = after(60 - minute);
    for n in 0..PER_MINUTE + 3 {
        let kept = keep(&scene, &source, NOW).await;
        assert_eq!(kept.is_some(), n < PER_MINUTE, "{n}");
    }
    assert!(keep(&scene, &source, next_minute).await.is_some());
    let tally = scene
        .rejection_counts(&scene.tenant, source.id)
        .await
        .unwrap();
    assert_eq!((tally.stored, tally.counted), (11, 3));
    assert_eq!(listed(&scene, &source, 100).await.len(), 11);
}

/// The id of an overwritten one is unknown.
pub async fn the_last_hundred_are_stored(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let mut ids = Vec::new();
    for n in 0..RING + 5 {
        ids.extend(keep(&scene, &source, after(n * 10)).await);
    }
    let found: Vec<_> = listed(&scene, &source, 1_000).await;
    let found: Vec<_> = found.into_iter().map(|kept| kept.id).collect();
    let newest: Vec<_> = ids.iter().rev().take(100).copied().collect();
    assert_eq!(found, newest);
    assert_eq!(one(&scene, &source, ids[0], NOW).await, None);
    assert!(one(&scene, &source, ids[5], NOW).await.is_some());
}

/// Whether or not it has been removed yet.
pub async fn a_rejected_request_is_not_shown_after_its_retention(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let old = keep(&scene, &source, NOW).await.unwrap();
    let young = keep(&scene, &source, after(10)).await.unwrap();
    let end = NOW.plus(KEPT_FOR);
    let before_end = end.minus(Millis::new(1));
    assert!(one(&scene, &source, old, before_end).await.is_some());
    assert_eq!(one(&scene, &source, old, end).await, None);
    let shown = scene.rejections(&scene.tenant, source.id, 10, end).await;
    let shown: Vec<_> = shown.unwrap().into_iter().map(|kept| kept.id).collect();
    assert_eq!(shown, [young]);
}

/// Another tenant's source behaves like an unknown one.
pub async fn rejected_requests_belong_to_their_source(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let other = builders::source(&scene.tenant, 2);
    scene.create_source(other.clone()).await.unwrap();
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    let id = keep(&scene, &source, NOW).await.unwrap();
    for (tenant, source) in [(&scene.tenant, other.id), (&theirs.tenant, source.id)] {
        let found = scene.rejections(tenant, source, 10, NOW).await;
        assert_eq!(found, Ok(Vec::new()));
        let found = scene.rejected_request(tenant, source, id, NOW).await;
        assert_eq!(found, Ok(None));
        let tally = scene.rejection_counts(tenant, source).await.unwrap();
        assert_eq!((tally.stored, tally.counted), (0, 0));
    }
}

/// However many arrive at once, each is stored or counted.
pub async fn at_most_ten_of_many_concurrent_ones_are_stored(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let keeping: Vec<_> = (0..30)
        .map(|_| {
            let store = scene.handle.store.clone();
            let rejected = RejectedRequest::of(&source, request(b"{}"), Rejection::NoMatch, NOW);
            tokio::spawn(async move { store.store_rejected(rejected).await.unwrap() })
        })
        .collect();
    let mut kept = Vec::new();
    for one in keeping {
        kept.extend(one.await.unwrap());
    }
    assert!((1..=10).contains(&kept.len()), "{}", kept.len());
    let tally = scene
        .rejection_counts(&scene.tenant, source.id)
        .await
        .unwrap();
    let count = kept.len() as u64;
    assert_eq!((tally.stored, tally.counted), (count, 30 - count));
    kept.sort_by_key(|id| std::cmp::Reverse(id.place()));
    let found = listed(&scene, &source, 100).await;
    let found: Vec<_> = found.into_iter().map(|kept| kept.id).collect();
    assert_eq!(found, kept);
}

/// With the reason only, never the contents; also one that replaced an older one.
pub async fn stored_requests_are_notified_and_counted_ones_are_not(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let first = keep(&scene, &source, NOW).await.unwrap();
    let large = RejectedRequest::of(&source, request(b""), Rejection::TooLarge, after(1));
    scene.store_rejected(large).await.unwrap();
    for _ in 0..20 {
        keep(&scene, &source, after(1)).await;
    }
    for n in 1..=RING {
        keep(&scene, &source, after(n * 60)).await;
    }
    fixture.flush().await;
    let notifications = scene.notifications().await;
    assert_eq!(notifications.len(), 110);
    let event: Value = serde_json::from_str(&notifications[0].event).unwrap();
    let id = format!("{}/{first}/inbound.signature_failed", source.id);
    assert_eq!(event["id"], id.as_str());
    assert_eq!(event["type"], "inbound.signature_failed");
    assert_eq!(event["data"]["name"], "WebhookSignatureFailureEvent");
    assert_eq!(event["data"]["source_id"], source.id.to_string());
    assert_eq!(event["data"]["reason"], "no_match");
    assert_eq!(event["data"]["refused_id"], first.to_string());
    assert_eq!(notifications[1].kind, "inbound.too_large");
    let last: Value = serde_json::from_str(&notifications[109].event).unwrap();
    assert_eq!(last["data"]["counted"], 12);
    let canary = notifications.iter().any(|one| one.event.contains("canary"));
    assert!(!canary);
}

/// Such requests are counted together, without a notification.
pub async fn requests_to_unknown_sources_belong_to_no_tenant(fixture: impl Fixture) {
    let (scene, _) = stage(&fixture).await;
    for n in 0..12 {
        let rejected =
            RejectedRequest::to_unknown_source(request(b"canary"), Rejection::UnknownSource, NOW);
        let source = rejected.source;
        let kept = scene.store_rejected(rejected).await.unwrap();
        assert_eq!(kept.is_some(), n < 10);
        let tally = scene.rejection_counts(&scene.tenant, source).await.unwrap();
        assert_eq!(tally.stored + tally.counted, n + 1);
    }
    fixture.flush().await;
    assert_eq!(scene.notification_kinds().await, Vec::<String>::new());
}

/// A new source with the same id starts at zero. What was stored is not shown any more, whether or not it has been removed yet.
pub async fn deleting_a_source_deletes_its_counters(fixture: impl Fixture) {
    let (scene, source) = stage(&fixture).await;
    let kept = keep(&scene, &source, NOW).await.unwrap();
    scene.delete_source(&scene.tenant, source.id).await.unwrap();
    assert_eq!(listed(&scene, &source, 10).await, []);
    assert_eq!(one(&scene, &source, kept, NOW).await, None);
    let tally = scene
        .rejection_counts(&scene.tenant, source.id)
        .await
        .unwrap();
    assert_eq!((tally.stored, tally.counted), (0, 0));
}

pub(super) async fn stage(fixture: &impl Fixture) -> (Scene, Source) {
    let scene = Scene::of(fixture.handle());
    let source = builders::source(&scene.tenant, 1);
    scene.create_source(source.clone()).await.unwrap();
    (scene, source)
}

pub(super) fn request(body: &'static [u8]) -> Inbound {
    Inbound {
        path: "/gateway/webhooks/src_1".to_owned(),
        ..Inbound::post(HeaderMap::new(), Bytes::from_static(body))
    }
}

async fn keep(scene: &Scene, source: &Source, at: Timestamp) -> Option<RejectedId> {
    let rejected = RejectedRequest::of(source, request(b"canary"), Rejection::NoMatch, at);
    scene.store_rejected(rejected).await.unwrap()
}

pub(super) async fn listed(scene: &Scene, source: &Source, limit: usize) -> Vec<StoredRejection> {
    let found = scene.rejections(&scene.tenant, source.id, limit, after(10));
    found.await.unwrap()
}

async fn one(
    scene: &Scene,
    source: &Source,
    id: RejectedId,
    now: Timestamp,
) -> Option<StoredRejection> {
    let found = scene.rejected_request(&scene.tenant, source.id, id, now);
    found.await.unwrap()
}
