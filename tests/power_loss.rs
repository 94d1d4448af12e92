//! The power fails: what is on disk, and whether everything acknowledged is part of it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use http::Method;
use postrider_adapter_local::backup::BackupContents;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_flow_model::random::Random;
use postrider_tests::chaos::power_loss::{
    self, Disk, Flaw, Image, Plan, Point, Record, Recording, Stage,
};
use serde_json::json;

use crate::command::{self, Serve};

const SEED: u64 = 17;
const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

#[tokio::test]
async fn chaos_nothing_acknowledged_is_lost_when_the_power_fails() {
    let plan = Plan {
        runs: 4,
        life: Duration::from_millis(700),
        points: 16,
        seed: SEED,
    };
    let report = power_loss::run(plan).await;
    println!("{report:?}");
    assert!(report.acknowledged > 100, "there was load: {report:?}");
    let found = (report.findings.lossy, report.findings.unusable, report.lost);
    assert_eq!(found, (0, 0, 0), "{report:?}");
}

/// The test of the test above.
#[tokio::test]
async fn chaos_a_gateway_that_does_not_sync_or_responds_too_early_is_found() {
    let recording = power_loss::record_first_run(Duration::from_millis(700)).await;
    let sound = recording.examine_first_run(24, SEED);
    assert_eq!((sound.lossy, sound.unusable), (0, 0), "{sound:?}");
    for flaw in Flaw::ALL {
        let found = recording.clone().with(flaw).examine_first_run(24, SEED);
        println!("{flaw:?}: {found:?}");
        assert!(found.lossy > 0, "{flaw:?}: {found:?}");
    }
}

#[tokio::test]
async fn the_recorder_misses_no_change_of_a_file() {
    let stage = Stage::new();
    let mut gateway = power_loss::start(&stage).await;
    let nowhere = "http://127.0.0.1:9/";
    let webhook = gateway
        .webhook(nowhere, &json!({"profile": "gateway"}))
        .await;
    for n in 0..20 {
        gateway.publish(&webhook, &n.to_string()).await;
    }
    assert!(gateway.terminate().await);
    let recorded = power_loss::take(&stage).result().without_index();
    let real = Image::of(&stage.disk()).without_index();
    let names = |image: &Image| image.files.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&recorded), names(&real));
    assert!(recorded == real, "the contents differ");
}

/// One publisher that waits for each answer, and no webhook: nothing but the events is written.
#[tokio::test]
async fn each_answer_waits_for_a_sync_of_its_own() {
    const EVENTS: usize = 20;
    let stage = Stage::new();
    let mut gateway = power_loss::start(&stage).await;
    for n in 0..EVENTS {
        let event = json!({"type": "order.paid", "payload": n});
        gateway.call(Method::POST, "/v1/events", Some(event)).await;
    }
    assert!(gateway.terminate().await);
    let recording = power_loss::take(&stage);
    let syncs = recording.syncs_per_acknowledgement();
    println!("{syncs:?}");
    assert_eq!(syncs.len(), EVENTS);
    assert!(syncs.iter().all(|count| *count >= 1), "{syncs:?}");
    let unsynced = recording.with(Flaw::FilesAreNotSynced);
    assert_eq!(unsynced.syncs_per_acknowledgement(), [0; EVENTS]);
}

/// Runs a command with the recorder.
async fn record(stage: &Stage, arguments: &[&str]) -> Recording {
    power_loss::begin(stage);
    let output = tokio::process::Command::new(command::binary())
        .arg("--data")
        .arg(stage.data())
        .args(arguments)
        .envs(power_loss::variables(stage))
        .output();
    let output = output.await.unwrap();
    assert!(output.status.success(), "{output:?}");
    power_loss::take(stage)
}

/// A gateway's directory with a webhook and 20 deliveries.
async fn fill(data: &Path) -> Serve {
    let gateway = Serve::start_in(data, &[OPEN]).await;
    let nowhere = "http://127.0.0.1:9/";
    let webhook = gateway
        .webhook(nowhere, &json!({"profile": "gateway"}))
        .await;
    for n in 0..20 {
        gateway.publish(&webhook, &n.to_string()).await;
    }
    gateway
}

#[tokio::test]
async fn a_backup_that_was_reported_survives_a_power_loss() {
    let stage = Stage::new();
    let _gateway = fill(&stage.data()).await;
    let file = stage.disk().join("one.backup");
    let recording = record(&stage, &["backup", file.to_str().unwrap()]).await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    for seed in 0..8 {
        recording.fail_anywhere(8, seed, &mut |point, image| {
            let Some(left) = image.files.get(Path::new("one.backup")) else {
                assert_eq!(point, Point::Between, "it is gone");
                return;
            };
            std::fs::write(&copy, left).unwrap();
            let contents = BackupContents::of(&copy).unwrap();
            assert_eq!(contents.deliveries, 20);
        });
    }
}

#[tokio::test]
async fn a_restored_gateway_survives_a_power_loss() {
    let (old, stage) = (Stage::new(), Stage::new());
    let _gateway = fill(&old.data()).await;
    let file = old.disk().join("one.backup");
    let file = file.to_str().unwrap();
    record(&old, &["backup", file]).await;
    let recording = record(&stage, &["restore", file, "--hold"]).await;
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    for seed in 0..8 {
        recording.fail_anywhere(8, seed, &mut |point, image| {
            let database = Path::new("data/postrider.db");
            if !image.files.contains_key(database) {
                assert_eq!(point, Point::Between, "it is gone");
                return;
            }
            image.write_to(&disk);
            let store = SqliteStore::open(&disk.join("data"), SqliteOptions::default()).unwrap();
            let rows = rusqlite::Connection::open(disk.join(database)).unwrap();
            let count = "SELECT count(*) FROM webhook_deliveries";
            let count: u32 = rows.query_row(count, [], |row| row.get(0)).unwrap();
            assert_eq!(count, 20);
            drop(store);
        });
    }
}

fn created(inode: u64, path: &str) -> Record {
    let path = path.into();
    Record::Created { inode, path }
}

fn wrote(inode: u64, bytes: &[u8]) -> Record {
    let bytes = bytes.to_vec();
    Record::Wrote {
        inode,
        at: 0,
        bytes,
    }
}

/// Opens a file or directory and syncs it.
fn synced(inode: u64, path: &str) -> [Record; 3] {
    let path = path.into();
    let began = Record::SyncBegan { inode, id: inode };
    let ended = Record::SyncEnded { inode, id: inode };
    [Record::Opened { inode, path }, began, ended]
}

/// What 200 power losses leave of the file `a`.
fn states(records: &[Record]) -> BTreeSet<Option<Vec<u8>>> {
    let mut disk = Disk::new(&Image::default());
    records.iter().for_each(|record| disk.apply(record));
    let state = |seed| disk.after_power_loss(&mut Random::new(seed));
    let file = |mut image: Image| image.files.remove(Path::new("a"));
    (0..200).map(|seed| file(state(seed))).collect()
}

#[test]
fn without_a_sync_any_part_of_a_file_may_be_lost() {
    let states = states(&[created(1, "a"), wrote(1, &[7; 1024])]);
    assert!(states.contains(&None), "its name");
    assert!(states.contains(&Some(Vec::new())), "its content");
    assert!(states.contains(&Some(vec![7; 1024])), "nothing");
    let torn = [vec![0; 512], vec![7; 512]].concat();
    assert!(states.contains(&Some(torn)), "a sector");
}

#[test]
fn a_synced_file_in_a_directory_that_is_not_synced_may_be_lost() {
    let [_, began, ended] = synced(1, "a");
    let states = states(&[created(1, "a"), wrote(1, b"x"), began, ended]);
    assert_eq!(states, BTreeSet::from([None, Some(b"x".to_vec())]));
}

#[test]
fn a_synced_file_in_a_synced_directory_stays() {
    let [_, began, ended] = synced(1, "a");
    let mut records = vec![created(1, "a"), wrote(1, b"x"), began, ended];
    records.extend(synced(2, ""));
    assert_eq!(states(&records), BTreeSet::from([Some(b"x".to_vec())]));
}

#[test]
fn a_sync_does_not_cover_what_is_written_while_it_runs() {
    let [_, began, ended] = synced(1, "a");
    let mut records = vec![created(1, "a"), began, wrote(1, b"x"), ended];
    records.extend(synced(2, ""));
    let states = states(&records);
    assert!(states.contains(&Some(Vec::new())), "it is lost");
    assert!(states.contains(&Some(b"x".to_vec())), "it is kept");
}
