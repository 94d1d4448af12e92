//! Lists, newest first, page by page.

use std::collections::BTreeSet;

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Force, Status};
use postrider_domain::event::Event;
use postrider_domain::ids::DeliveryId;
use postrider_domain::time::Timestamp;
use postrider_ports::Error;
use postrider_ports::deliveries::Accepted;
use postrider_ports::history::{Cursor, Filter, MAX_EXAMINED};

use super::{Fixture, Scene};
use crate::builders::{NOW, after};

/// Each row that existed at the beginning is seen exactly once.
pub async fn pages_reach_the_end_under_concurrent_inserts(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let mut there = BTreeSet::new();
    for n in 0..23 {
        there.insert(scene.row_at(webhook, after(n)).await);
    }
    fixture.flush().await;
    let mut seen = Vec::new();
    let mut cursor = None;
    for n in 0.. {
        let filter = Filter::default();
        let page = scene.list(&scene.tenant, &filter, 4, cursor.as_ref());
        let page = page.await.unwrap();
        assert!(page.items.len() <= 4);
        seen.extend(page.items);
        // One newer than all, one among those already seen, one among those not yet seen.
        for at in [after(100 + n), after(22), NOW] {
            scene.row_at(webhook, at).await;
        }
        fixture.flush().await;
        cursor = page.next;
        if cursor.is_none() || n > 60 {
            break;
        }
    }
    let times: Vec<Timestamp> = seen.iter().map(|row| row.created_at).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "newest first");
    let ids: Vec<DeliveryId> = seen.iter().map(|row| row.id).collect();
    let once: BTreeSet<DeliveryId> = ids.iter().copied().collect();
    assert_eq!(once.len(), ids.len(), "none twice");
    assert!(there.is_subset(&once), "none is missing");
}

/// Their time alone does not order them.
pub async fn rows_accepted_in_the_same_millisecond_are_all_seen(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    for _ in 0..15 {
        let acceptance = scene.plan(scene.event(NOW), &[a, b]).await;
        scene.accept_new(acceptance).await;
    }
    fixture.flush().await;
    for limit in [1, 7, 30, 100] {
        let found = scene.all(&Filter::default(), limit).await;
        let once: BTreeSet<DeliveryId> = found.iter().map(|row| row.id).collect();
        assert_eq!((found.len(), once.len()), (30, 30), "pages of {limit}");
    }
}

/// One condition at a time.
pub async fn each_filter_finds_the_matching_rows(fixture: impl Fixture) {
    let (scene, rows) = mixed(&fixture).await;
    let of = |wanted: &dyn Fn(&Mixed) -> bool| {
        let found = rows.iter().filter(|row| wanted(row)).map(|row| row.id);
        found.collect::<BTreeSet<DeliveryId>>()
    };
    for status in Status::ALL {
        let filter = Filter {
            status: Some(status),
            ..Filter::default()
        };
        assert_found(&scene, &filter, &of(&|row| row.status == status)).await;
    }
    let webhook = rows[0].id.webhook;
    let filter = Filter {
        webhook_id: Some(webhook),
        ..Filter::default()
    };
    assert_found(&scene, &filter, &of(&|row| row.id.webhook == webhook)).await;
    let filter = Filter {
        session_id: Some("session-a".parse().unwrap()),
        ..Filter::default()
    };
    assert_found(&scene, &filter, &of(&|row| row.session == "session-a")).await;
    let filter = Filter {
        event_type: Some("task.failed".parse().unwrap()),
        ..Filter::default()
    };
    assert_found(&scene, &filter, &of(&|row| row.kind == "task.failed")).await;
    let filter = Filter {
        from: Some(after(5)),
        ..Filter::default()
    };
    assert_found(&scene, &filter, &of(&|row| row.at >= after(5))).await;
    let filter = Filter {
        to: Some(after(5)),
        ..Filter::default()
    };
    assert_found(&scene, &filter, &of(&|row| row.at < after(5))).await;
    assert_found(&scene, &Filter::default(), &of(&|_| true)).await;
}

/// All conditions at once, and each pair of those that could be indexed.
pub async fn filters_can_be_combined(fixture: impl Fixture) {
    let (scene, rows) = mixed(&fixture).await;
    let webhook = rows[0].id.webhook;
    for status in [None, Some(Status::Failed), Some(Status::Delivered)] {
        for session in [None, Some("session-b")] {
            for hook in [None, Some(webhook)] {
                for kind in [None, Some("task.failed")] {
                    let filter = Filter {
                        status,
                        session_id: session.map(|text| text.parse().unwrap()),
                        webhook_id: hook,
                        event_type: kind.map(|text| text.parse().unwrap()),
                        from: Some(after(2)),
                        to: Some(after(14)),
                    };
                    let expected = rows.iter().filter(|row| {
                        status.is_none_or(|status| row.status == status)
                            && session.is_none_or(|session| row.session == session)
                            && hook.is_none_or(|hook| row.id.webhook == hook)
                            && kind.is_none_or(|kind| row.kind == kind)
                            && (after(2)..after(14)).contains(&row.at)
                    });
                    let expected = expected.map(|row| row.id).collect();
                    assert_found(&scene, &filter, &expected).await;
                }
            }
        }
    }
}

/// Pages may be short or even empty, and still every row is found.
pub async fn a_page_reads_a_bounded_number_of_rows_and_the_next_continues(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let rare = |event: Event| Event {
        event_type: "task.rare".parse().unwrap(),
        ..event
    };
    let version = scene.version().await;
    let mut batch = Vec::new();
    let mut wanted = BTreeSet::new();
    for n in 0..MAX_EXAMINED + 200 {
        // The first is the oldest: a page that starts with the newest does not reach it.
        let event = scene.event(after(n.try_into().unwrap()));
        let event = if n % 400 == 0 { rare(event) } else { event };
        if n % 400 == 0 {
            wanted.insert(DeliveryId {
                event: event.id,
                webhook,
            });
        }
        batch.push(crate::builders::acceptance(event, &[webhook], version));
    }
    for accepted in scene.accept(batch).await {
        assert!(matches!(accepted, Ok(Accepted::New)));
    }
    fixture.flush().await;
    let filter = Filter {
        event_type: Some("task.rare".parse().unwrap()),
        ..Filter::default()
    };
    let first = scene.page(&filter, 100).await;
    assert!(first.next.is_some() && first.items.len() < wanted.len());
    assert_found(&scene, &filter, &wanted).await;
}

/// Garbage, and a cursor of another list.
pub async fn an_invalid_cursor_is_rejected(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for _ in 0..3 {
        scene.row(webhook).await;
    }
    fixture.flush().await;
    let good = scene.page(&Filter::default(), 1).await.next.unwrap();
    let failed = Filter {
        status: Some(Status::Failed),
        ..Filter::default()
    };
    let garbage = ["", "0", "garbage!", "AAAA", "%00", "ä", &"A".repeat(5_000)];
    let mut cases: Vec<(Filter, Cursor)> = garbage
        .iter()
        .map(|text| (Filter::default(), Cursor((*text).to_owned())))
        .collect();
    cases.push((failed, good.clone()));
    cases.push((Filter::default(), Cursor(format!("{}x", good.0))));
    for (filter, cursor) in cases {
        let page = scene.list(&scene.tenant, &filter, 1, Some(&cursor)).await;
        assert_eq!(page, Err(Error::InvalidCursor), "{cursor:?}");
    }
}

/// The index of failed and dead rows follows their status.
pub async fn the_index_of_failed_and_dead_rows_follows_the_status(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let id = scene.dead(webhook).await;
    let list = async |status| {
        fixture.flush().await;
        let filter = Filter {
            status: Some(status),
            ..Filter::default()
        };
        scene.all(&filter, 10).await.len()
    };
    assert_eq!(
        (list(Status::Dead).await, list(Status::Failed).await),
        (1, 0)
    );
    let requeued = scene.requeue(&scene.tenant, id, Force::No, after(10));
    requeued.await.unwrap();
    assert_eq!(
        (list(Status::Dead).await, list(Status::Pending).await),
        (0, 1)
    );
    scene
        .attempt(id, super::scene::retry_at(after(60)), after(10))
        .await;
    assert_eq!(list(Status::Failed).await, 1);
    scene.attempt(id, Transition::Deliver, after(60)).await;
    assert_eq!(
        (list(Status::Failed).await, list(Status::Delivered).await),
        (0, 1)
    );
}

/// One per webhook that the event was routed to; another tenant sees none of them.
pub async fn the_rows_of_an_event_are_those_of_its_tenant(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let (a, b) = (scene.webhook().await.id, scene.webhook().await.id);
    let event = scene.event(NOW);
    let id = event.id;
    let acceptance = scene.plan(event, &[a, b]).await;
    scene.accept_new(acceptance).await;
    scene.row(a).await;
    let delivered = DeliveryId {
        event: id,
        webhook: b,
    };
    scene.attempt(delivered, Transition::Deliver, NOW).await;
    let rows = scene.rows_of(&scene.tenant, id).await.unwrap();
    let found: BTreeSet<_> = rows.iter().map(|row| (row.id, row.status)).collect();
    let row = |webhook, status| (DeliveryId { event: id, webhook }, status);
    let expected = [row(a, Status::Pending), row(b, Status::Delivered)];
    assert_eq!(found, BTreeSet::from(expected));
    let theirs = Scene::of_tenant(fixture.handle(), "theirs");
    let none = theirs.rows_of(&theirs.tenant, id).await.unwrap();
    assert_eq!(none, []);
}

struct Mixed {
    id: DeliveryId,
    at: Timestamp,
    status: Status,
    session: &'static str,
    kind: &'static str,
}

async fn mixed(fixture: &impl Fixture) -> (Scene, Vec<Mixed>) {
    let scene = Scene::of(fixture.handle());
    let webhooks = [scene.webhook().await.id, scene.webhook().await.id];
    let mut rows = Vec::new();
    for n in 0..16 {
        let (at, status) = (after(n), Status::ALL[usize::try_from(n % 4).unwrap()]);
        let session = if n % 3 == 0 { "session-a" } else { "session-b" };
        let kind = if n % 5 < 3 {
            "task.failed"
        } else {
            "task.completed"
        };
        let event = Event {
            session_id: Some(session.parse().unwrap()),
            event_type: kind.parse().unwrap(),
            ..scene.event(at)
        };
        let webhook = webhooks[usize::from(n % 7 > 3)];
        let id = DeliveryId {
            event: event.id,
            webhook,
        };
        let acceptance = scene.plan(event, &[webhook]).await;
        scene.accept_new(acceptance).await;
        let transition = match status {
            Status::Pending => None,
            Status::Failed => Some(super::scene::retry_at(after(1000))),
            Status::Delivered => Some(Transition::Deliver),
            Status::Dead => Some(super::scene::die(
                postrider_domain::delivery::DeadCause::Rejected,
            )),
        };
        if let Some(transition) = transition {
            scene.attempt(id, transition, at).await;
        }
        rows.push(Mixed {
            id,
            at,
            status,
            session,
            kind,
        });
    }
    fixture.flush().await;
    (scene, rows)
}

async fn assert_found(scene: &Scene, filter: &Filter, expected: &BTreeSet<DeliveryId>) {
    for limit in [3, 100] {
        let found = scene.all(filter, limit).await;
        let times: Vec<_> = found.iter().map(|row| row.created_at).collect();
        assert!(times.is_sorted_by(|a, b| a >= b), "newest first");
        let ids: BTreeSet<DeliveryId> = found.iter().map(|row| row.id).collect();
        assert_eq!(
            found.len(),
            ids.len(),
            "a row was returned twice: {filter:?}"
        );
        assert_eq!(ids, *expected, "{filter:?}");
    }
}
