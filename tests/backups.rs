//! Backups of a gateway under load, and what a restored gateway sends.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::Receiver;
use serde_json::json;

use crate::command::{self, Serve};

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

async fn postrider<const N: usize>(data: &Path, arguments: [&str; N]) -> Output {
    tokio::process::Command::new(command::binary())
        .arg("--data")
        .arg(data)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

async fn metrics(gateway: &Serve) -> String {
    let path = format!("{}/metrics", gateway.url);
    let request = reqwest::Client::new().get(path).bearer_auth(&gateway.token);
    request.send().await.unwrap().text().await.unwrap()
}

/// Looks again until there is something to see.
async fn eventually<T>(look: impl AsyncFn() -> Option<T>) -> T {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let wait = async {
        loop {
            looks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(Duration::from_secs(60), wait).await;
    found.expect("it happens within a minute")
}

/// The gateway is killed while it sends, and its directory is lost with the machine.
#[tokio::test]
async fn everything_acknowledged_before_a_backup_is_restored_and_nothing_is_sent_twice_unasked() {
    let receiver = Receiver::start().await;
    let (data, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut gateway = Serve::start_in(data.path(), &[OPEN]).await;
    let webhook = gateway
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let mut before = Vec::new();
    for n in 0..40 {
        before.push(
            gateway
                .publish(&webhook, &json!({ "n": n }).to_string())
                .await,
        );
    }
    // From here on nothing is answered, so deliveries are in flight when the backup is taken.
    receiver.received(40).await;
    receiver.hold();
    for n in 40..60 {
        before.push(
            gateway
                .publish(&webhook, &json!({ "n": n }).to_string())
                .await,
        );
    }
    let file = elsewhere.path().join("one.backup");
    let path = file.to_str().unwrap();
    let (taken, later) = tokio::join!(postrider(data.path(), ["backup", path]), async {
        let mut later = Vec::new();
        for n in 60..80 {
            later.push(
                gateway
                    .publish(&webhook, &json!({ "n": n }).to_string())
                    .await,
            );
        }
        later
    });
    assert!(taken.status.success(), "{}", said(&taken));
    assert!(said(&taken).contains("keep it private"));
    // The old gateway sends what the backup holds as open; then the machine is gone.
    receiver.open();
    for delivery in before.iter().chain(&later) {
        assert_eq!(gateway.settled(delivery).await["status"], "delivered");
    }
    gateway.kill().await;
    let sent = receiver.requests().len();
    drop(data);

    let new = tempfile::tempdir().unwrap();
    let undecided = postrider(new.path(), ["restore", path]).await;
    assert_eq!(undecided.status.code(), Some(2), "{}", said(&undecided));
    assert!(said(&undecided).contains("--hold"), "{}", said(&undecided));
    let held = postrider(new.path(), ["restore", path, "--hold"]).await;
    assert!(held.status.success(), "{}", said(&held));
    let twice = postrider(new.path(), ["restore", path, "--hold"]).await;
    assert_eq!(twice.status.code(), Some(2), "it never overwrites");

    let mut restored = Serve::start_in(new.path(), &[OPEN]).await;
    let mut waiting = 0;
    for delivery in &before {
        let path = format!("/v1/deliveries/{delivery}");
        let row = restored.call(Method::GET, &path, None).await;
        waiting += usize::from(row["status"] != "delivered");
    }
    assert!(waiting > 0, "some were open when the backup was taken");
    let quiet = tokio::time::timeout(Duration::from_secs(2), receiver.received(sent + 1)).await;
    assert!(
        quiet.is_err(),
        "nothing is sent before the webhook is resumed"
    );
    restored.kill().await;
    let mut restored = Serve::start_in(new.path(), &[OPEN]).await;
    let resume = format!("/v1/webhooks/{webhook}/resume");
    restored.call(Method::POST, &resume, None).await;
    for delivery in &before {
        assert_eq!(restored.settled(delivery).await["status"], "delivered");
    }
    restored.kill().await;
}

#[tokio::test]
async fn a_scheduled_backup_is_taken_and_reported() {
    let (data, backups) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let place = ("POSTRIDER_BACKUP_DIR", backups.path().to_str().unwrap());
    let gateway = Serve::start_in(data.path(), &[place]).await;
    let file = eventually(async || {
        let mut files = std::fs::read_dir(backups.path()).unwrap().flatten();
        files.find(|file| file.file_name().to_string_lossy().ends_with(".backup"))
    })
    .await;
    let file = file.path();
    let checked = postrider(data.path(), ["restore", file.to_str().unwrap(), "--check"]).await;
    assert!(checked.status.success(), "{}", said(&checked));
    let metrics = eventually(async || {
        let metrics = metrics(&gateway).await;
        metrics
            .contains("postrider_backups_total{result=\"done\"} 1")
            .then_some(metrics)
    });
    assert!(
        metrics
            .await
            .contains("postrider_last_backup_timestamp_seconds")
    );
}
