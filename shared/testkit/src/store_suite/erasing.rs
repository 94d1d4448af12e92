//! Erasing events, and deleting tenants.

use postrider_domain::delivery::{DeadCause, Delivery, Force, Status, Unclaimable};
use postrider_domain::event::{Event, Label, RequestHash};
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, ErasureId, JobId, KeyId, TenantId};
use postrider_domain::key::{ApiKey, KeyDigest, Scope};
use postrider_domain::tenant::{Deletion, Tenant, TenantDraft, TenantLimits};
use postrider_domain::time::Millis;
use postrider_ports::configs::Created;
use postrider_ports::deliveries::{Acceptance, Accepted, Applied, Claim, EventIdFrom};
use postrider_ports::erasures::{Erasure, EventErased, Progress, Subject};
use postrider_ports::history::{Cursor, Filter};
use postrider_ports::interventions::{Added, Requeued};
use postrider_ports::jobs::{JobState, RetryJob, Walk};

use super::scene::{die, retry_at};
use super::{Fixture, Scene};
use crate::builders::{self, NOW, after};

/// Its counts and how far it has come, by one process at a time.
pub async fn an_erasure_is_stored_and_continues(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let erasure = erasure(1, "session-1");
    let tenant = &scene.tenant;
    scene.create_erasure(tenant, erasure.clone()).await.unwrap();
    assert_eq!(
        scene.erasure(tenant, erasure.id).await,
        Ok(Some(erasure.clone()))
    );
    assert_eq!(
        scene.unfinished_erasures().await,
        Ok(vec![(tenant.clone(), erasure.clone())])
    );
    let mut further = Erasure {
        step: 1,
        ..erasure.clone()
    };
    further.erased.events = 3;
    further.progress = further.progress.map(|progress| Progress {
        walk: Walk::after(Some(Cursor("here".to_owned()))),
        slice: vec![builders::event_id(1)],
        ..progress
    });
    let noted = scene.progress_erasure(tenant, further.clone()).await;
    assert_eq!(noted, Ok(Some(further.clone())));
    let late = scene.progress_erasure(
        tenant,
        Erasure {
            step: 1,
            ..erasure.clone()
        },
    );
    assert_eq!(
        late.await,
        Ok(Some(further.clone())),
        "another process was faster"
    );
    let done = Erasure {
        step: 2,
        progress: None,
        ended_at: Some(after(9)),
        subject: Subject::Session { session_id: None },
        ..further
    };
    let noted = scene.progress_erasure(tenant, done.clone()).await;
    assert_eq!(noted, Ok(Some(done.clone())));
    assert_eq!(scene.unfinished_erasures().await, Ok(Vec::new()));
    let unknown = scene.progress_erasure(tenant, self::erasure(2, "s")).await;
    assert_eq!(unknown, Ok(None));
    let other: TenantId = "other".parse().unwrap();
    assert_eq!(scene.erasure(&other, done.id).await, Ok(None));
}

pub async fn erasures_are_listed_newest_first(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    for n in 1..=3 {
        let stored = scene.create_erasure(&scene.tenant, erasure(n, "s"));
        stored.await.unwrap();
    }
    let ids = |found: Vec<Erasure>| found.iter().map(|one| one.id).collect::<Vec<_>>();
    let id = |n| erasure(n, "s").id;
    let first = scene.erasures(&scene.tenant, 2, None).await.unwrap();
    assert_eq!(ids(first), [id(3), id(2)]);
    let second = scene.erasures(&scene.tenant, 2, Some(id(2))).await.unwrap();
    assert_eq!(ids(second), [id(1)]);
}

/// One that is not finished keeps it: it would retry something else without.
pub async fn an_erased_session_is_removed_from_finished_bulk_retries(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other: TenantId = "other".parse().unwrap();
    let label = |text: &str| text.parse::<Label>().unwrap();
    let job = |n, session: &str, state| {
        let filter = Filter {
            session_id: Some(label(session)),
            status: Some(Status::Dead),
            ..Filter::default()
        };
        let id = JobId::from_bytes([n; 16]);
        RetryJob {
            state,
            ..RetryJob::new(id, filter, NOW)
        }
    };
    let done = job(1, "s-1", JobState::Done);
    let another = job(2, "s-2", JobState::Done);
    let running = job(3, "s-1", JobState::Running);
    let foreign = job(4, "s-1", JobState::Done);
    for job in [&done, &another, &running] {
        let stored = scene.create_job(&scene.tenant, job.clone());
        stored.await.unwrap();
    }
    scene.create_job(&other, foreign.clone()).await.unwrap();
    let session = label("s-1");
    let is_complete = scene.erase_from_jobs(&scene.tenant, &session).await;
    assert_eq!(is_complete, Ok(false), "one is not finished");
    let erased = |job: &RetryJob| {
        let mut erased = job.clone();
        erased.filter.session_id = None;
        erased
    };
    for (stored, expected) in [
        (&done, erased(&done)),
        (&another, another.clone()),
        (&running, running.clone()),
    ] {
        let found = scene.job(&scene.tenant, stored.id).await;
        assert_eq!(found, Ok(Some(expected)));
    }
    assert_eq!(
        scene.job(&other, foreign.id).await,
        Ok(Some(foreign.clone()))
    );
    let cancelled = scene.cancel_job(&scene.tenant, running.id).await;
    let cancelled = cancelled.unwrap().unwrap();
    let is_complete = scene.erase_from_jobs(&scene.tenant, &session).await;
    assert_eq!(is_complete, Ok(true));
    let found = scene.job(&scene.tenant, running.id).await;
    assert_eq!(found, Ok(Some(erased(&cancelled))));
}

/// Payload, session, intent, signature, and the texts of the attempts.
pub async fn an_erased_event_leaves_only_what_happened(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (delivered, dead) = (scene.webhook().await.id, scene.webhook().await.id);
    let event = scene.event(NOW);
    let (id, session) = (event.id, event.session_id.clone());
    let acceptance = scene.plan(event, &[delivered, dead]).await;
    scene.accept_new(acceptance).await;
    let [delivered, dead] = [delivered, dead].map(|webhook| DeliveryId { event: id, webhook });
    let arrived = scene
        .attempt(
            delivered,
            postrider_domain::decide::Transition::Deliver,
            NOW,
        )
        .await;
    let gave_up = scene.attempt(dead, die(DeadCause::Exhausted), NOW).await;
    let erased = scene.erase_event(&scene.tenant, id, after(5)).await;
    assert_eq!(erased, Ok(EventErased::Done { deliveries: 2 }));
    assert_eq!(scene.handle.store.event(&scene.tenant, id).await, Ok(None));
    assert_eq!(scene.erased_at(&scene.tenant, id).await, Ok(Some(after(5))));
    for (id, before) in [(delivered, arrived), (dead, gave_up)] {
        let row = scene.stored(id).await;
        assert_eq!(row, before.erased(), "{id}");
        assert_eq!(row.status, before.status);
        assert_eq!(row.dead_cause, before.dead_cause);
        let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
        assert_eq!(attempts.len(), 1, "the attempt itself stays");
        assert_eq!(attempts[0].error, None);
        assert_eq!(attempts[0].response_body, None);
        assert!(attempts[0].status_code.is_some());
    }
    fixture.flush().await;
    let of_session = Filter {
        session_id: session,
        ..Filter::default()
    };
    assert_eq!(scene.all(&of_session, 10).await, []);
    assert_eq!(scene.all(&Filter::default(), 10).await.len(), 2);
    let again = scene.erase_event(&scene.tenant, id, after(9)).await;
    assert_eq!(again, Ok(EventErased::Done { deliveries: 2 }));
    assert_eq!(scene.erased_at(&scene.tenant, id).await, Ok(Some(after(5))));
    let unknown = builders::event_id(9999);
    let erased = scene.erase_event(&scene.tenant, unknown, NOW).await;
    assert_eq!(erased, Ok(EventErased::Missing));
    assert_eq!(scene.erased_at(&scene.tenant, unknown).await, Ok(None));
}

/// With a cause of its own, and a notification without the session.
pub async fn an_open_delivery_of_an_erased_event_is_dead(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for id in [scene.row(webhook).await, scene.failed(webhook).await] {
        let erased = scene.erase_event(&scene.tenant, id.event, after(5)).await;
        assert_eq!(erased, Ok(EventErased::Done { deliveries: 1 }));
        let row = scene.stored(id).await;
        assert_eq!(
            (row.status, row.dead_cause),
            (Status::Dead, Some(DeadCause::Erased))
        );
        let claim = scene.try_claim(id, after(100)).await;
        assert!(
            matches!(claim, Claim::Unclaimable(Unclaimable::Closed)),
            "{claim:?}"
        );
        for force in [Force::No, Force::Delivered] {
            let requeued = scene.requeue(&scene.tenant, id, force, after(100)).await;
            assert_eq!(requeued, Ok(Requeued::Erased));
        }
        let late = Delivery {
            id: DeliveryId {
                webhook: scene.webhook().await.id,
                ..id
            },
            version: 0,
            ..row
        };
        assert_eq!(scene.add_delivery(late).await, Ok(Added::EventMissing));
    }
}

/// Resuming its webhook would not help.
pub async fn an_erased_row_is_not_requeued_whatever_its_webhook_is(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    scene
        .erase_event(&scene.tenant, id.event, after(1))
        .await
        .unwrap();
    let requeue = async || {
        let requeued = scene.requeue(&scene.tenant, id, Force::No, after(2));
        requeued.await
    };
    scene.set_status(webhook, WebhookStatus::Disabled).await;
    assert_eq!(requeue().await, Ok(Requeued::Erased));
    let deleted = scene.delete_webhook(&scene.tenant, webhook, after(2)).await;
    assert_eq!(deleted, Ok(true));
    assert_eq!(requeue().await, Ok(Requeued::Erased));
}

/// It is erased when it has ended, although it would have been retried.
pub async fn an_attempt_under_way_ends_before_it_is_erased(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (held, free) = (scene.webhook().await.id, scene.webhook().await.id);
    let event = scene.event(NOW);
    let id = event.id;
    let acceptance = scene.plan(event, &[held, free]).await;
    scene.accept_new(acceptance).await;
    let [held, free] = [held, free].map(|webhook| DeliveryId { event: id, webhook });
    let claimed = scene.claimed(held, NOW).await;
    let erased = scene.erase_event(&scene.tenant, id, after(1)).await;
    assert_eq!(erased, Ok(EventErased::InFlight));
    assert_eq!(scene.stored(free).await.dead_cause, Some(DeadCause::Erased));
    assert_eq!(scene.handle.store.event(&scene.tenant, id).await, Ok(None));
    scene.finish(&claimed, retry_at(after(2)), after(1)).await;
    let claim = scene.try_claim(held, after(3)).await;
    assert!(
        matches!(claim, Claim::Unclaimable(Unclaimable::Closed)),
        "{claim:?}"
    );
    let row = scene.stored(held).await;
    assert!(row.is_erased(), "{row:?}");
    let erased = scene.erase_event(&scene.tenant, id, after(4)).await;
    assert_eq!(erased, Ok(EventErased::Done { deliveries: 2 }));
    let row = scene.stored(held).await;
    assert_eq!(row.dead_cause, Some(DeadCause::Erased));
    assert!(row.is_erased(), "{row:?}");
    let attempts = scene.attempts(&scene.tenant, held).await.unwrap();
    assert_eq!(
        (attempts.len(), attempts[0].response_body.clone()),
        (1, None)
    );
}

/// The caller repeats it because it got no answer.
pub async fn a_result_that_is_repeated_after_the_erasure_brings_nothing_back(
    fixture: impl Fixture,
) {
    let scene = Scene::of(fixture.handle());
    let id = scene.row(scene.webhook().await.id).await;
    let claimed = scene.claimed(id, NOW).await;
    let completion = builders::completion(&claimed, die(DeadCause::Exhausted), NOW);
    let apply = async || {
        scene
            .apply(&claimed, completion.clone(), NOW)
            .await
            .unwrap()
    };
    assert!(matches!(apply().await, Applied::Done(_)));
    let erased = scene.erase_event(&scene.tenant, id.event, after(1)).await;
    assert_eq!(erased, Ok(EventErased::Done { deliveries: 1 }));
    let row = scene.stored(id).await;
    assert_eq!(apply().await, Applied::Done(Box::new(row)));
    let attempts = scene.attempts(&scene.tenant, id).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].error, None);
    assert_eq!(attempts[0].response_body, None);
}

/// A publisher is told; a source, which repeats what it sent, is not.
pub async fn an_erased_event_does_not_come_back(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let event = scene.event(NOW);
    let id = event.id;
    let keyed = |event: Event, hash: RequestHash, version| Acceptance {
        request_hash: hash,
        event_id: EventIdFrom::Key,
        ..builders::acceptance(event, &[webhook], version)
    };
    let hash = event.request_hash(None);
    let version = scene.version().await;
    scene.accept_new(keyed(event.clone(), hash, version)).await;
    let row = DeliveryId { event: id, webhook };
    scene.attempt(row, die(DeadCause::Exhausted), NOW).await;
    scene
        .erase_event(&scene.tenant, id, after(1))
        .await
        .unwrap();
    let published = scene.accept_one(keyed(event.clone(), hash, version)).await;
    assert_eq!(published, Ok(Accepted::Conflict));
    let received = keyed(event, RequestHash::of_id(id), version);
    match scene.accept_one(received).await {
        Ok(Accepted::Duplicate { completed, .. }) => assert_eq!(completed, []),
        other => panic!("{other:?}"),
    }
    assert_eq!(scene.handle.store.event(&scene.tenant, id).await, Ok(None));
    assert!(scene.stored(row).await.is_erased());
}

pub async fn a_body_of_any_size_is_erased(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for bytes in [0, 100, 20_000] {
        let event = Event {
            body: crate::bodies::random_bytes(1, bytes),
            ..scene.event(NOW)
        };
        let id = event.id;
        let acceptance = scene.plan(event, &[webhook]).await;
        scene.accept_new(acceptance).await;
        let erased = scene.erase_event(&scene.tenant, id, after(1)).await;
        assert_eq!(erased, Ok(EventErased::Done { deliveries: 1 }), "{bytes}");
        assert_eq!(scene.handle.store.event(&scene.tenant, id).await, Ok(None));
    }
    assert_eq!(scene.scrub().await, Ok(true));
}

pub async fn erasing_leaves_other_events_and_tenants_alone(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let mine = scene.failed(scene.webhook().await.id).await;
    let theirs = other.failed(other.webhook().await.id).await;
    assert_eq!(mine.event, theirs.event, "the same id in two tenants");
    let next = scene.failed(mine.webhook).await;
    scene
        .erase_event(&scene.tenant, mine.event, after(1))
        .await
        .unwrap();
    assert!(!other.stored(theirs).await.is_erased());
    assert!(!scene.stored(next).await.is_erased());
    let kept = other.handle.store.event(&other.tenant, theirs.event).await;
    assert!(kept.unwrap().is_some());
}

/// What could accept or send something.
pub async fn the_settings_of_a_tenant_are_deleted_in_slices(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let other = Scene::of_tenant(fixture.handle(), "other");
    let kept = settle(&other).await;
    settle(&scene).await;
    for _ in 0..4 {
        scene.webhook().await;
    }
    let (mut webhooks, mut sources, mut keys, mut event_types) = (0, 0, 0, 0);
    loop {
        let deleted = scene.delete_settings(&scene.tenant, 2, NOW).await.unwrap();
        if deleted.is_empty() {
            break;
        }
        assert!(deleted.webhooks <= 2, "{deleted:?}");
        webhooks += deleted.webhooks;
        sources += deleted.sources;
        keys += deleted.keys;
        event_types += deleted.event_types;
    }
    assert_eq!((webhooks, sources, keys, event_types), (5, 1, 1, 1));
    let left = scene.webhooks(&scene.tenant).await.unwrap();
    assert_eq!(left.webhooks, []);
    assert_eq!(scene.keys(&scene.tenant).await, Ok(Vec::new()));
    assert_eq!(scene.sources(&scene.tenant).await, Ok(Vec::new()));
    assert_eq!(scene.event_types(&scene.tenant).await, Ok(Vec::new()));
    let digest = KeyDigest::of("acme");
    assert_eq!(scene.key_by_digest(digest).await, Ok(None));
    assert!(other.key_by_digest(kept).await.unwrap().is_some());
    assert_eq!(other.sources(&other.tenant).await.unwrap().len(), 1);
    assert_eq!(other.event_types(&other.tenant).await.unwrap().len(), 1);
}

/// With its deliveries and attempts, once none is under way.
pub async fn an_event_is_deleted_whole(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let (held, dead) = (scene.webhook().await.id, scene.webhook().await.id);
    let event = scene.event(NOW);
    let id = event.id;
    let acceptance = scene.plan(event, &[held, dead]).await;
    scene.accept_new(acceptance).await;
    let [held, dead] = [held, dead].map(|webhook| DeliveryId { event: id, webhook });
    scene.attempt(dead, die(DeadCause::Exhausted), NOW).await;
    let claimed = scene.claimed(held, NOW).await;
    let deleted = scene.delete_event(&scene.tenant, id, after(1)).await;
    assert_eq!(deleted, Ok(EventErased::InFlight));
    let waiting = scene.delivery(&scene.tenant, dead).await.unwrap();
    assert!(waiting.is_some(), "it would not be counted later");
    scene.finish(&claimed, retry_at(after(60)), after(1)).await;
    let deleted = scene.delete_event(&scene.tenant, id, after(2)).await;
    assert_eq!(deleted, Ok(EventErased::Done { deliveries: 2 }));
    for row in [held, dead] {
        assert_eq!(scene.delivery(&scene.tenant, row).await, Ok(None));
        assert_eq!(scene.attempts(&scene.tenant, row).await, Ok(Vec::new()));
    }
    assert_eq!(scene.handle.store.event(&scene.tenant, id).await, Ok(None));
    let again = scene.delete_event(&scene.tenant, id, after(3)).await;
    assert_eq!(again, Ok(EventErased::Missing));
    fixture.flush().await;
    assert_eq!(scene.all(&Filter::default(), 10).await, []);
}

/// Counters, bulk retries and notifications. Another tenant keeps its own.
pub async fn the_rest_of_a_tenant_is_deleted_in_slices(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let other = Scene::of_tenant(fixture.handle(), "other");
    let mut kept = Vec::new();
    for one in [&scene, &other] {
        one.listening(&one.tenant, NOW).await.unwrap();
        let webhook = one.webhook().await.id;
        for _ in 0..3 {
            let id = one.row(webhook).await;
            one.attempt(id, die(DeadCause::Exhausted), NOW).await;
            kept.push(id);
        }
        let stored = one.create_erasure(&one.tenant, erasure(1, "s"));
        stored.await.unwrap();
    }
    fixture.flush().await;
    let hour = |one: &Scene| {
        let (tenant, store) = (one.tenant.clone(), one.handle.store.clone());
        let (from, to) = (NOW.hour(), NOW.hour().plus(Millis::from_seconds(3600)));
        async move { store.stats(&tenant, None, from, to).await.unwrap().len() }
    };
    assert_eq!((hour(&scene).await, hour(&other).await), (1, 1));
    delete_everything(&scene).await;
    fixture.flush().await;
    assert_eq!(hour(&scene).await, 0);
    assert_eq!(
        scene.erasure(&scene.tenant, erasure(1, "s").id).await,
        Ok(None)
    );
    assert_eq!(scene.notifications().await, []);
    assert_eq!(hour(&other).await, 1);
    let theirs = other.erasure(&other.tenant, erasure(1, "s").id).await;
    assert!(theirs.unwrap().is_some());
    assert_eq!(other.all(&Filter::default(), 10).await.len(), 3);
}

/// Until it is created again. A process that remembers its old webhooks then sees that they changed.
pub async fn a_forgotten_tenant_does_not_exist(fixture: impl Fixture) {
    let scene = Scene::of_tenant(fixture.handle(), "acme");
    let id = scene.tenant.clone();
    let record = record(&id);
    scene.put_tenant(record.clone(), None).await.unwrap();
    let webhook = scene.webhook().await.id;
    let version = scene.version().await;
    let deletion = Deletion {
        erasure: ErasureId::from_bytes([1; 16]),
        begun_at: after(1),
    };
    let marked = record.deleted_by(deletion);
    scene
        .put_tenant(marked.clone(), record.updated_at())
        .await
        .unwrap();
    let listed = scene.webhooks(&id).await.unwrap();
    assert_eq!(listed.tenant, Some(marked));
    assert!(listed.version > version, "plans are made again");
    delete_everything(&scene).await;
    scene.forget_tenant(&id).await.unwrap();
    scene.forget_tenant(&id).await.unwrap();
    assert_eq!(scene.tenant(&id).await, Ok(None));
    let all = scene.tenant_page(10, None).await.unwrap();
    assert!(all.iter().all(|tenant| tenant.id != id), "{all:?}");
    assert!(!scene.tenants().await.unwrap().contains(&id));
    assert!(scene.version().await > listed.version);
    let again = self::record(&id);
    scene.put_tenant(again.clone(), None).await.unwrap();
    assert_eq!(scene.tenant(&id).await, Ok(Some(again)));
    let webhooks = scene.webhooks(&id).await.unwrap().webhooks;
    assert!(webhooks.iter().all(|left| left.id != webhook));
    scene.webhook().await;
}

async fn delete_everything(scene: &Scene) {
    let tenant = &scene.tenant;
    while !scene
        .delete_settings(tenant, 10, NOW)
        .await
        .unwrap()
        .is_empty()
    {}
    for row in scene.all(&Filter::default(), 10).await {
        let deleted = scene.delete_event(tenant, row.id.event, after(60)).await;
        assert_ne!(deleted, Ok(EventErased::InFlight));
    }
    let mut next = None;
    for _ in 0..10_000 {
        next = scene.delete_rest(tenant, 10, next.as_ref()).await.unwrap();
        if next.is_none() {
            return;
        }
    }
    panic!("it does not end");
}

/// A webhook, a source, a key and an event type.
async fn settle(scene: &Scene) -> KeyDigest {
    scene.webhook().await;
    let source = builders::source(&scene.tenant, scene.draw());
    // Ids of sources are the same for all tenants.
    let bytes = if scene.tenant.as_str() == "acme" {
        [7; 16]
    } else {
        [8; 16]
    };
    let source = postrider_domain::source::Source {
        id: postrider_domain::ids::SourceId::from_bytes(bytes),
        ..source
    };
    assert_eq!(scene.create_source(source).await, Ok(Created::Done));
    let digest = KeyDigest::of(scene.tenant.as_str());
    let key = ApiKey {
        id: KeyId::from_bytes(bytes),
        tenant: scene.tenant.clone(),
        name: "key".to_owned(),
        scopes: vec![Scope::Publish],
        digest,
        created_at: NOW,
        last_used_at: None,
    };
    scene.put_key(key).await.unwrap();
    let entry = postrider_domain::event_catalogue::CatalogueDraft::default();
    let entry = entry.check("order.paid".parse().unwrap(), NOW).unwrap();
    scene.put_event_type(&scene.tenant, entry).await.unwrap();
    digest
}

fn erasure(n: u8, session: &str) -> Erasure {
    let subject = Subject::Session {
        session_id: Some(session.parse().unwrap()),
    };
    let mut id = [0; 16];
    id[5] = n;
    Erasure::new(
        ErasureId::from_bytes(id),
        subject,
        KeyId::from_bytes([9; 16]),
        after(u64::from(n)),
    )
}

fn record(id: &TenantId) -> Tenant {
    let draft = TenantDraft {
        name: "Acme".to_owned(),
        limits: TenantLimits::default(),
    };
    Tenant::unrecorded(id.clone()).changed(&draft, NOW).unwrap()
}
