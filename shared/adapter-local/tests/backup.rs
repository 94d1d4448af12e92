//! Backups: taken while the store is written to, checked, and restored.
#![allow(clippy::unwrap_used, reason = "test code")]

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use postrider_adapter_local::backup::{
    BackupContents, OpenDeliveries, back_up, last_backup, restore,
};
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::health::WebhookStatus;
use postrider_domain::time::Timestamp;
use postrider_ports::Error;
use postrider_ports::configs::Webhooks;
use postrider_testkit::builders::{NOW, after};
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

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn take(dir: &Path, file: &Path, now: Timestamp) -> postrider_ports::Result<BackupContents> {
    back_up(dir, file, now, &mut |_| ControlFlow::Continue(()))
}

async fn bring_back(file: &Path, dir: &Path, open: OpenDeliveries) -> Result<u64, String> {
    let restored = restore(file, dir, open, after(60), &mut |_| {
        ControlFlow::Continue(())
    })
    .await;
    restored
        .map(|restored| restored.paused_webhooks)
        .map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_backup_of_a_busy_store_holds_everything_acknowledged_before_it() {
    let (dir, elsewhere) = (directory(), directory());
    let store = open(dir.path());
    let scene = Arc::new(scene(&store));
    let webhook = scene.webhook().await.id;
    let mut before = Vec::new();
    for _ in 0..50 {
        before.push(scene.row(webhook).await);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (scene, stop) = (Arc::clone(&scene), Arc::clone(&stop));
        async move {
            let mut rows = 0;
            while !stop.load(Ordering::Relaxed) {
                scene.row(webhook).await;
                rows += 1;
            }
            rows
        }
    });
    let file = elsewhere.path().join("one.backup");
    let (from, to) = (dir.path().to_owned(), file.clone());
    let contents = tokio::task::spawn_blocking(move || take(&from, &to, NOW));
    let contents = contents.await.unwrap().unwrap();
    stop.store(true, Ordering::Relaxed);
    assert!(writing.await.unwrap() > 0);
    assert!(contents.deliveries >= 50 && contents.webhooks == 1);
    assert_eq!(contents.open_deliveries, contents.deliveries);
    assert_eq!(BackupContents::of(&file).unwrap(), contents);

    let restored_to = elsewhere.path().join("data");
    let paused = bring_back(&file, &restored_to, OpenDeliveries::Send).await;
    assert_eq!(paused, Ok(0));
    let restored = open(&restored_to);
    let again = self::scene(&restored);
    for id in before {
        let row = again.stored(id).await;
        let detail = row.error_detail.unwrap();
        assert!(detail.contains("may have been sent"), "{detail}");
    }
    let old = store.webhook(&scene.tenant, webhook).await.unwrap();
    let new = restored.webhook(&scene.tenant, webhook).await.unwrap();
    assert_eq!(old, new);
}

#[tokio::test]
async fn on_request_a_restored_gateway_sends_nothing_until_webhooks_are_resumed() {
    let (dir, elsewhere) = (directory(), directory());
    let store = open(dir.path());
    let scene = scene(&store);
    let (active, failed, disabled) = (
        scene.webhook().await.id,
        scene.webhook().await.id,
        scene.webhook().await.id,
    );
    for (id, status) in [
        (failed, WebhookStatus::Failed),
        (disabled, WebhookStatus::Disabled),
    ] {
        let set = store.set_webhook_status(&scene.tenant, id, status, NOW);
        set.await.unwrap();
    }
    scene.row(active).await;
    let file = elsewhere.path().join("one.backup");
    take(dir.path(), &file, NOW).unwrap();
    let to = elsewhere.path().join("data");
    assert_eq!(bring_back(&file, &to, OpenDeliveries::Hold).await, Ok(2));
    let restored = open(&to);
    for (id, status) in [
        (active, WebhookStatus::Paused),
        (failed, WebhookStatus::Paused),
        (disabled, WebhookStatus::Disabled),
    ] {
        let webhook = restored.webhook(&scene.tenant, id).await.unwrap().unwrap();
        assert_eq!(webhook.health.status, status);
    }
}

#[tokio::test]
async fn a_restore_never_overwrites_and_a_failed_one_leaves_nothing_to_serve() {
    let (dir, elsewhere) = (directory(), directory());
    drop(open(dir.path()));
    let file = elsewhere.path().join("one.backup");
    take(dir.path(), &file, NOW).unwrap();
    let refused = bring_back(&file, dir.path(), OpenDeliveries::Send).await;
    assert!(refused.unwrap_err().contains("already exists"));

    let sound = fs::read(&file).unwrap();
    let bad = elsewhere.path().join("damaged.backup");
    let to = elsewhere.path().join("data");
    // In the schema, in a table, and at the end.
    for at in [0, 1_024, sound.len() / 2, sound.len() - 8_192] {
        let mut damaged = sound.clone();
        damaged[at..at + 8_192].fill(0xa5);
        fs::write(&bad, damaged).unwrap();
        let refused = bring_back(&bad, &to, OpenDeliveries::Send).await;
        let why = refused.unwrap_err();
        assert!(why.contains("damaged"), "{at}: {why}");
        assert!(!to.join("postrider.db").exists() && !to.join("secret.key").exists());
        assert!(!to.join("restoring").exists());
    }

    let foreign = elsewhere.path().join("foreign.db");
    let db = Connection::open(&foreign).unwrap();
    db.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(db);
    let refused = bring_back(&foreign, &to, OpenDeliveries::Send).await;
    assert!(refused.unwrap_err().contains("not a backup"));
    assert_eq!(bring_back(&file, &to, OpenDeliveries::Send).await, Ok(0));
    open(&to);
}

#[test]
fn a_backup_never_overwrites_is_private_and_needs_the_right_key() {
    let (dir, elsewhere) = (directory(), directory());
    let empty = take(elsewhere.path(), &elsewhere.path().join("x"), NOW);
    assert!(matches!(empty, Err(Error::Broken(why)) if why.contains("--data")));
    drop(open(dir.path()));
    let file = elsewhere.path().join("one.backup");
    take(dir.path(), &file, NOW).unwrap();
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let twice = take(dir.path(), &file, NOW);
    assert!(matches!(twice, Err(Error::Broken(why)) if why.contains("overwrites")));
    let last = last_backup(dir.path()).unwrap();
    assert_eq!((last.taken_at, last.file), (NOW, file));

    fs::write(dir.path().join("secret.key"), [7; 32]).unwrap();
    let second = elsewhere.path().join("two.backup");
    let wrong = take(dir.path(), &second, NOW);
    assert!(matches!(wrong, Err(Error::Broken(why)) if why.contains("key")));
    let names: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "no draft is left: {names:?}");
}

#[tokio::test]
async fn a_restored_database_has_a_log_again_and_refuses_an_old_one() {
    let (dir, elsewhere) = (directory(), directory());
    drop(open(dir.path()));
    let file = elsewhere.path().join("one.backup");
    take(dir.path(), &file, NOW).unwrap();
    let to = elsewhere.path().join("data");
    fs::create_dir(&to).unwrap();
    let left = to.join("postrider.db-wal");
    fs::write(&left, "of a gateway that was killed").unwrap();
    let refused = bring_back(&file, &to, OpenDeliveries::Send).await;
    assert!(refused.unwrap_err().contains("postrider.db-wal"));
    fs::remove_file(left).unwrap();
    assert_eq!(bring_back(&file, &to, OpenDeliveries::Send).await, Ok(0));
    let _store = open(&to);
    let db = Connection::open(to.join("postrider.db")).unwrap();
    let mode: String = db
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn an_interrupted_restore_is_repeated() {
    let (dir, elsewhere) = (directory(), directory());
    drop(open(dir.path()));
    let file = elsewhere.path().join("one.backup");
    take(dir.path(), &file, NOW).unwrap();
    let to = elsewhere.path().join("data");
    fs::create_dir_all(to.join("restoring")).unwrap();
    fs::write(to.join("secret.key"), [1; 32]).unwrap();
    assert_eq!(bring_back(&file, &to, OpenDeliveries::Send).await, Ok(0));
    open(&to);
}

#[test]
fn a_backup_can_be_stopped_and_leaves_nothing() {
    let (dir, elsewhere) = (directory(), directory());
    drop(open(dir.path()));
    let file = elsewhere.path().join("one.backup");
    let stopped = back_up(dir.path(), &file, NOW, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Unavailable(why)) if why.contains("stopped")));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert!(last_backup(dir.path()).is_none());
}

#[test]
fn a_backup_of_a_newer_version_is_refused() {
    let (dir, elsewhere) = (directory(), directory());
    drop(open(dir.path()));
    let file = elsewhere.path().join("one.backup");
    take(dir.path(), &file, NOW).unwrap();
    let db = Connection::open(&file).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let newer = BackupContents::of(&file);
    assert!(matches!(newer, Err(Error::Broken(why)) if why.contains("newer version")));
}
