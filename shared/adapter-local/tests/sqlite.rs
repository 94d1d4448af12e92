//! Behaviour specific to the SQLite store.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "test code: any other result is a failure"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use bytes::Bytes;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Completion, DeadCause, Force, Status, Unclaimable};
use postrider_domain::event::Event;
use postrider_domain::flow::AttemptKind;
use postrider_domain::headers::CustomHeaders;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, JobId, TenantId, WebhookId};
use postrider_domain::retention::Retention;
use postrider_domain::secret::{SecretRing, SigningSecret};
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::{Webhook, WebhookSettings};
use postrider_ports::Error;
use postrider_ports::configs::Webhooks;
use postrider_ports::deliveries::{Accepted, Applied, Claim};
use postrider_ports::history::Filter;
use postrider_ports::housekeeping::Housekeeping;
use postrider_ports::interventions::Requeued;
use postrider_ports::jobs::RetryJob;
use postrider_ports::schedule::{Ask, Schedule};
use postrider_testkit::builders::{self, NOW, after};
use postrider_testkit::store_suite::{Handle, Scene, WaitingRows};
use rusqlite::Connection;
use tempfile::TempDir;

fn open(dir: &Path) -> Arc<SqliteStore> {
    SqliteStore::open(dir, SqliteOptions::default()).unwrap()
}

fn scene(store: &Arc<SqliteStore>) -> Scene {
    Scene::of(Handle {
        embedded: None,
        waiting_rows: WaitingRows::Unmarked,
        store: store.clone(),
        process: store.process().to_owned(),
    })
}

fn raw(dir: &Path) -> Connection {
    Connection::open(dir.join("postrider.db")).unwrap()
}

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_the_store_recovers_when_there_is_space() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let mut held = Vec::new();
    for _ in 0..40 {
        let id = scene.row(webhook).await;
        held.push(scene.claimed(id, NOW).await);
    }
    store.limit_pages(1).await.unwrap();
    let mut rejected = Vec::new();
    let mut stored = Vec::new();
    for _ in 0..40 {
        let event = Event {
            body: Bytes::from(vec![b'x'; 100_000]),
            ..scene.event(NOW)
        };
        let acceptance = scene.plan(event, &[webhook]).await;
        let id = acceptance.rows[0].id;
        match scene.accept_one(acceptance.clone()).await {
            Ok(Accepted::New) => stored.push(id),
            Err(Error::Unavailable(_)) => rejected.push(acceptance),
            other => panic!("{other:?}"),
        }
    }
    assert!(!rejected.is_empty());
    for acceptance in &rejected {
        let id = acceptance.rows[0].id;
        assert_eq!(scene.delivery(&scene.tenant, id).await, Ok(None));
        let event = scene.handle.store.event(&scene.tenant, id.event).await;
        assert_eq!(event, Ok(None));
    }
    let mut failed = Vec::new();
    for claimed in &held {
        let applied = scene.apply(claimed, long_response(claimed), NOW).await;
        if let Err(error) = applied {
            assert!(error.is_transient(), "{error}");
            let id = claimed.delivery().id;
            assert_eq!(scene.stored(id).await, *claimed.delivery());
            let attempts = scene.attempts(&scene.tenant, id).await;
            assert_eq!(attempts, Ok(Vec::new()));
            failed.push(claimed);
        }
    }
    assert!(!failed.is_empty());
    store.limit_pages(u32::MAX - 1).await.unwrap();
    for claimed in failed {
        let applied = scene.apply(claimed, long_response(claimed), NOW).await;
        assert!(matches!(applied, Ok(Applied::Done(_))));
        let attempts = scene
            .attempts(&scene.tenant, claimed.delivery().id)
            .await
            .unwrap();
        assert_eq!(attempts.len(), 1);
    }
    for acceptance in rejected {
        scene.accept_new(acceptance).await;
    }
    for id in stored {
        scene.stored(id).await;
    }
}

fn long_response(claimed: &Claimed) -> Completion {
    let exhausted = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    let mut done = builders::completion(claimed, exhausted, NOW);
    done.attempt.response_body = Some("x".repeat(2_000));
    done
}

#[tokio::test]
async fn one_failing_item_does_not_affect_the_others() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let good = scene.plan(scene.event(NOW), &[webhook]).await;
    let mut bad = scene.plan(scene.event(NOW), &[webhook]).await;
    // The schema rejects an open row that is never due: it would never be found.
    bad.rows[0].next_retry_at = None;
    let also_good = scene.plan(scene.event(NOW), &[webhook]).await;
    let results = scene
        .accept(vec![good.clone(), bad.clone(), also_good.clone()])
        .await;
    assert!(matches!(
        results[..],
        [Ok(Accepted::New), Err(Error::Broken(_)), Ok(Accepted::New)]
    ));
    for stored in [good, also_good] {
        scene.stored(stored.rows[0].id).await;
    }
    let event = scene.handle.store.event(&scene.tenant, bad.event.id).await;
    assert_eq!(event, Ok(None), "the event is not left behind");
}

#[tokio::test]
async fn the_store_is_unavailable_while_another_process_writes() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let acceptance = scene.plan(scene.event(NOW), &[webhook]).await;
    let other = raw(dir.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = scene.accept_one(acceptance.clone()).await;
    assert!(matches!(busy, Err(Error::Unavailable(_))), "{busy:?}");
    assert_eq!(
        scene.all(&Filter::default(), 10).await,
        [],
        "readers still work"
    );
    other.execute_batch("COMMIT").unwrap();
    scene.accept_new(acceptance).await;
}

#[tokio::test]
async fn rows_held_by_a_closed_process_are_free_immediately() {
    let dir = directory();
    let store = open(dir.path());
    let ours = scene(&store);
    let webhook = ours.webhook().await.id;
    let (held, failed) = (ours.row(webhook).await, ours.failed(webhook).await);
    let theirs = open(dir.path());
    let claims = scene(&theirs);
    let claimed = claims.claimed(held, after(60)).await;
    claims.claimed(failed, after(60)).await;
    assert_eq!(due(&store, webhook).await, []);
    drop(claims);
    drop(theirs);
    assert_eq!(due(&store, webhook).await, [held, failed]);
    let agenda = store.agenda(None, 100, after(61)).await.unwrap().entries;
    assert_eq!((agenda.len(), agenda[0].due_at), (1, NOW));
    let requeued = ours
        .requeue(&ours.tenant, failed, Force::No, after(61))
        .await;
    assert!(matches!(requeued, Ok(Requeued::Done(_))), "{requeued:?}");
    let taken = ours.claimed(held, after(61)).await;
    assert!(taken.version() > claimed.version());
}

async fn due_at(store: &SqliteStore, webhook: WebhookId, now: Timestamp) -> Vec<DeliveryId> {
    let asks = [AttemptKind::First, AttemptKind::Retry].map(|kind| Ask::all(kind, 500));
    let found = store.due(&TenantId::default(), webhook, &asks, now).await;
    let rows = found.unwrap().into_iter().flat_map(|found| found.rows);
    rows.map(|row| row.id).collect()
}

async fn due(store: &SqliteStore, webhook: WebhookId) -> Vec<DeliveryId> {
    due_at(store, webhook, after(61)).await
}

#[tokio::test]
async fn rows_held_by_a_killed_process_are_due_in_the_first_cycle() {
    let dir = directory();
    let id = {
        let store = open(dir.path());
        let scene = scene(&store);
        scene.row(scene.webhook().await.id).await
    };
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child_that_claims_and_hangs", "--exact", "--ignored"])
        .arg("--nocapture")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{}\n{id}", dir.path().display()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("child has claimed")));

    let store = open(dir.path());
    let scene = scene(&store);
    let held = scene.try_claim(id, NOW).await;
    assert!(
        matches!(held, Claim::Unclaimable(Unclaimable::Held)),
        "{held:?}"
    );
    let before = scene.stored(id).await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(due_at(&store, id.webhook, NOW).await, [id]);
    assert_eq!(scene.stored(id).await, before, "finding it writes nothing");
    scene.claimed(id, NOW).await;
}

/// Not a test: the process that is killed. Without input it returns immediately.
#[tokio::test]
#[ignore = "started by the test that kills it"]
async fn child_that_claims_and_hangs() {
    let mut lines = std::io::stdin().lines();
    let (Some(dir), Some(id)) = (lines.next(), lines.next()) else {
        return;
    };
    let store = open(Path::new(&dir.unwrap()));
    let scene = scene(&store);
    scene.claimed(id.unwrap().parse().unwrap(), NOW).await;
    println!("child has claimed");
    lines.next();
}

#[tokio::test]
async fn opening_a_store_writes_nothing() {
    let dir = directory();
    let id = {
        let store = open(dir.path());
        let scene = scene(&store);
        let id = scene.row(scene.webhook().await.id).await;
        scene.claimed(id, NOW).await;
        id
    };
    let file = dir.path().join("postrider.db");
    let before = fs::read(&file).unwrap();
    let store = open(dir.path());
    let agenda = store.agenda(None, 100, after(60)).await.unwrap();
    assert_eq!(agenda.entries.len(), 1);
    assert_eq!(due_at(&store, id.webhook, after(60)).await, [id]);
    let log = fs::metadata(dir.path().join("postrider.db-wal"));
    assert_eq!(log.map_or(0, |log| log.len()), 0);
    assert!(fs::read(&file).unwrap() == before);
}

fn page_size(dir: &Path) -> i64 {
    raw(dir)
        .pragma_query_value(None, "page_size", |row| row.get(0))
        .unwrap()
}

#[tokio::test]
async fn a_new_file_has_small_pages_and_an_older_one_keeps_its_own() {
    let dir = directory();
    let id = {
        let store = open(dir.path());
        let scene = scene(&store);
        scene.row(scene.webhook().await.id).await
    };
    assert_eq!(page_size(dir.path()), 1024);
    let older = raw(dir.path());
    older
        .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA page_size = 4096; VACUUM")
        .unwrap();
    drop(older);
    let store = open(dir.path());
    assert_eq!(due_at(&store, id.webhook, after(60)).await, [id]);
    let scene = scene(&store);
    scene.claimed(id, NOW).await;
    drop((scene, store));
    assert_eq!(page_size(dir.path()), 4096);
}

#[tokio::test]
async fn a_newer_file_is_rejected_and_left_unchanged() {
    let dir = directory();
    drop(open(dir.path()));
    raw(dir.path())
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let error = SqliteStore::open(dir.path(), SqliteOptions::default()).unwrap_err();
    assert!(
        error.to_string().contains("newer version of Postrider"),
        "{error}"
    );
    let version: i64 = raw(dir.path())
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 99);
}

#[tokio::test]
async fn no_file_contains_a_secret_in_plain_text() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let key = *b"a key that is easy to recognise!";
    let secret = SigningSecret::from_key(&key);
    let header = "Bearer canary-in-a-header";
    let plain = builders::webhook(&scene.tenant, 1);
    let webhook = Webhook {
        secrets: SecretRing::new(secret.clone()),
        settings: WebhookSettings {
            headers: CustomHeaders::parse([("authorization", header)]).unwrap(),
            ..plain.settings
        },
        ..plain
    };
    store.create_webhook(webhook.clone()).await.unwrap();
    let stored = store.webhook(&scene.tenant, webhook.id).await;
    assert_eq!(stored, Ok(Some(webhook)));
    let canaries = [secret.expose().as_bytes(), &key, header.as_bytes()];
    assert_absent(dir.path(), &canaries);
    drop(scene);
    drop(store);
    assert_absent(dir.path(), &canaries);
}

fn assert_absent(dir: &Path, canaries: &[&[u8]]) {
    let mut files = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        files += 1;
        let bytes = fs::read(&path).unwrap();
        for canary in canaries {
            let found = bytes.windows(canary.len()).any(|part| part == *canary);
            assert!(!found, "{}", path.display());
        }
    }
    assert!(files >= 2);
}

#[tokio::test]
async fn a_missing_or_wrong_key_is_reported() {
    let dir = directory();
    drop(open(dir.path()));
    let key = dir.path().join("secret.key");
    let right = fs::read(&key).unwrap();
    let open_error = || {
        let opened = SqliteStore::open(dir.path(), SqliteOptions::default());
        match opened.unwrap_err() {
            Error::Broken(why) => why,
            other => panic!("{other}"),
        }
    };
    fs::remove_file(&key).unwrap();
    assert!(open_error().contains("secret.key is missing"));
    assert!(!key.exists(), "no new key is created");
    for wrong in [vec![1; 32], vec![1; 31], vec![1; 33], Vec::new()] {
        fs::write(&key, wrong).unwrap();
        assert!(open_error().contains("is not the key"));
    }
    fs::write(&key, right).unwrap();
    open(dir.path());
}

#[tokio::test]
async fn files_are_private_to_their_owner() {
    let parent = directory();
    let dir = parent.path().join("data");
    let store = open(&dir);
    scene(&store).webhook().await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("locks")), 0o700);
    let mut files = 0;
    for folder in [dir.clone(), dir.join("locks")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 4, "database, log, key, lock: {files}");
}

#[tokio::test]
async fn a_directory_with_other_contents_keeps_its_permissions() {
    let dir = directory();
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    open(dir.path());
    let mode = fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o755);
}

#[test]
fn one_process_serves_a_directory() {
    let parent = directory();
    let dir = parent.path().join("data");
    let serving = SqliteStore::lock_for_serving(&dir).unwrap();
    let error = SqliteStore::lock_for_serving(&dir).unwrap_err();
    assert!(
        error.to_string().contains("another process already serves"),
        "{error}"
    );
    drop(serving);
    SqliteStore::lock_for_serving(&dir).unwrap();
}

#[tokio::test]
async fn the_view_shows_a_delivery_with_its_payload() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let event = Event {
        body: Bytes::from(vec![0xff; 1 << 20]),
        ..scene.event(NOW)
    };
    let webhook = scene.webhook().await.id;
    let acceptance = scene.plan(event.clone(), &[webhook]).await;
    scene.accept_new(acceptance).await;
    let view = "SELECT id, webhook_id, session_id, target_url, signature, payload, status, attempt_count, \
                last_attempted_at, next_retry_at, created_at, error_detail FROM webhook_deliveries_with_payload";
    let payload: Vec<u8> = raw(dir.path())
        .query_row(view, [], |row| row.get("payload"))
        .unwrap();
    assert!(payload == event.body);
}

#[tokio::test]
async fn queued_writes_finish_before_a_store_closes() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let acceptance = scene.plan(scene.event(NOW), &[webhook]).await;
    let id = acceptance.rows[0].id;
    let tenant = scene.tenant.clone();
    let handle = scene.handle.clone();
    drop((scene, store));
    let handed_over = tokio::spawn(async move { handle.store.accept(vec![acceptance]).await });
    handed_over.await.unwrap().remove(0).unwrap();
    let again = open(dir.path());
    let found = postrider_ports::history::History::delivery(&*again, &tenant, id).await;
    assert!(found.unwrap().is_some());
}

/// The writing thread remembers the versions and states of webhooks.
#[tokio::test]
async fn a_change_by_another_process_is_not_overlooked() {
    let dir = directory();
    let (here, there) = (open(dir.path()), open(dir.path()));
    let scene = scene(&here);
    let webhook = scene.webhook().await.id;
    scene.row(webhook).await;
    let planned = scene.plan(scene.event(NOW), &[webhook]).await;
    let paused = WebhookStatus::Paused;
    let changed = there.set_webhook_status(&scene.tenant, webhook, paused, NOW);
    changed.await.unwrap();
    let accepted = scene.handle.store.accept(vec![planned]).await.remove(0);
    assert_eq!(accepted, Ok(Accepted::Outdated));
}

/// They are simply due again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_deliveries_wait_for_a_resume_and_none_is_lost() {
    const WAITING: usize = 2_000;
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    scene.set_status(webhook, WebhookStatus::Failed).await;
    let version = scene.version().await;
    let mut ids = BTreeSet::new();
    for _ in 0..WAITING / 100 {
        let events = (0..100).map(|_| scene.event(NOW));
        let batch: Vec<_> = events
            .map(|event| builders::acceptance(event, &[webhook], version))
            .collect();
        ids.extend(batch.iter().map(|one| one.rows[0].id));
        for accepted in scene.accept(batch).await {
            assert!(matches!(accepted, Ok(Accepted::New)));
        }
    }
    let stopped = scene.try_claim(*ids.first().unwrap(), after(60)).await;
    assert!(matches!(
        stopped,
        Claim::Unclaimable(Unclaimable::InBacklog)
    ));
    scene.set_status(webhook, WebhookStatus::Active).await;
    let mut claimed = BTreeSet::new();
    loop {
        let due = due(&store, webhook).await;
        if due.is_empty() {
            break;
        }
        for id in due {
            let taken = scene.claimed(id, after(61)).await;
            claimed.insert(taken.delivery().id);
        }
    }
    assert_eq!(claimed, ids);
}

/// Publishers and workers that share a commit with it.
#[tokio::test]
async fn an_unreadable_counter_fails_no_commit_and_starts_again() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    for spoil in [
        "UPDATE stats SET latency = '['",
        "UPDATE stats SET latency = '{}'",
        "UPDATE stats SET attempts = -1",
    ] {
        assert_eq!(raw(dir.path()).execute(spoil, []), Ok(1), "{spoil}");
        let hours = scene.stats(&scene.tenant, Some(webhook), NOW.hour(), after(3_600));
        assert_eq!(hours.await, Ok(Vec::new()), "it is left out");
        let (one, other) = tokio::join!(scene.delivered(webhook), scene.row(webhook));
        assert_eq!(scene.stored(one).await.attempts_total, 1);
        assert_eq!(scene.stored(other).await.attempts_total, 0);
        let hours = scene.stats(&scene.tenant, Some(webhook), NOW.hour(), after(3_600));
        assert_eq!(hours.await.unwrap()[0].delivered, 1, "{spoil}");
    }
}

#[tokio::test]
async fn an_unreadable_delivery_hides_no_others_from_lists_and_retention() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(scene.dead(webhook).await);
    }
    let spoil = "UPDATE webhook_deliveries SET event_type = '' WHERE event_id = ?1";
    let spoiled = raw(dir.path()).execute(spoil, [ids[1].event.to_string()]);
    assert_eq!(spoiled, Ok(1));
    let dead = Filter {
        status: Some(Status::Dead),
        ..Filter::default()
    };
    let found: Vec<_> = scene.all(&dead, 1).await.iter().map(|row| row.id).collect();
    assert_eq!(found, [ids[2], ids[0]]);
    let retention = Retention {
        delivered: Millis::from_seconds(100),
        dead: Millis::from_seconds(100),
    };
    let expired = store.expire(retention, 10, after(100)).await.unwrap();
    assert_eq!((expired.removed, expired.more), (2, false));
}

#[tokio::test]
async fn an_unreadable_delivery_of_a_deleted_webhook_keeps_no_others_open() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let mut ids = Vec::new();
    for second in 0..3 {
        ids.push(scene.row_at(webhook, after(second)).await);
    }
    let spoil = "UPDATE webhook_deliveries SET event_type = '' WHERE event_id = ?1";
    let spoiled = raw(dir.path()).execute(spoil, [ids[0].event.to_string()]);
    assert_eq!(spoiled, Ok(1));
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    let ended = scene.end_deliveries_of_deleted_webhooks(10, after(5)).await;
    assert_eq!(ended, Ok(3));
    let ended = scene.end_deliveries_of_deleted_webhooks(10, after(5)).await;
    assert_eq!(
        ended,
        Ok(0),
        "the unreadable one is not read by every sweep"
    );
    let open = "SELECT count(*) FROM webhook_deliveries WHERE status <> 'dead'";
    let open: i64 = raw(dir.path())
        .query_row(open, [], |row| row.get(0))
        .unwrap();
    assert_eq!(open, 0);
}

/// Of the sweep: a deleted webhook is forgotten once nothing of it is open.
#[tokio::test]
async fn a_delivery_that_was_in_flight_when_its_webhook_was_deleted_is_ended() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let webhook = scene.webhook().await.id;
    let id = scene.row(webhook).await;
    let claimed = scene.claimed(id, NOW).await;
    let deleted = scene.delete_webhook(&scene.tenant, webhook, NOW).await;
    assert_eq!(deleted, Ok(true));
    let sweep = || scene.end_deliveries_of_deleted_webhooks(10, after(5));
    assert_eq!(sweep().await, Ok(0), "it is being attempted");
    let retry = Transition::Retry {
        next_retry_at: after(60),
    };
    scene.finish(&claimed, retry, after(5)).await;
    assert_eq!(sweep().await, Ok(1));
    assert_eq!(scene.stored(id).await.status, Status::Dead);
    let remembered = || -> i64 {
        let sql = "SELECT count(*) FROM deleted_webhooks";
        raw(dir.path())
            .query_row(sql, [], |row| row.get(0))
            .unwrap()
    };
    assert_eq!(remembered(), 0);
}

#[tokio::test]
async fn an_unreadable_job_stops_no_others() {
    let dir = directory();
    let store = open(dir.path());
    let scene = scene(&store);
    let job = |n| RetryJob::new(JobId::from_bytes([n; 16]), Filter::default(), NOW);
    for n in 1..3 {
        scene.create_job(&scene.tenant, job(n)).await.unwrap();
    }
    let spoil = "UPDATE jobs SET job = '{' WHERE id = ?1";
    let spoiled = raw(dir.path()).execute(spoil, [job(1).id.to_string()]);
    assert_eq!(spoiled, Ok(1));
    let unfinished = scene.unfinished_jobs().await;
    assert_eq!(unfinished, Ok(vec![(scene.tenant.clone(), job(2))]));
}
