//! The gateway runs out of file descriptors.

use std::path::Path;
use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::Receiver;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::json;

use crate::command::{self, PATIENCE, Serve};

/// Sets the soft limit of a running gateway. Descriptors that are open stay open.
fn limit(gateway: &Serve, soft: Option<u64>) {
    let pid = Pid::from_raw(gateway.pid().cast_signed());
    let limits = Rlimit {
        current: soft,
        // The gateway has inherited it.
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    prlimit(pid, Resource::Nofile, limits).unwrap();
}

/// Waits until the gateway has logged this event so many times.
async fn logged(log: &Path, event: &str, times: usize) {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let wait = async {
        while std::fs::read_to_string(log).unwrap().matches(event).count() < times {
            looks.tick().await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, wait).await;
    waited.unwrap_or_else(|_| panic!("{event} is logged {times} times"));
}

#[tokio::test]
async fn without_descriptors_nothing_dies_and_all_arrives_when_they_are_back() {
    let receiver = Receiver::start().await;
    let (data, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = logs.path().join("log");
    let allowed = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");
    let gateway = Serve::start_logged(data.path(), &[allowed], &log).await;
    // Two failed attempts would end the delivery and fail the webhook.
    let retry = json!({"profile": "custom", "delays_seconds": [1], "on_exhausted": "fail-webhook"});
    let mut webhooks = Vec::new();
    for _ in 0..3 {
        webhooks.push(gateway.webhook(&receiver.url(), &retry).await);
    }
    limit(&gateway, Some(0));
    let mut deliveries = Vec::new();
    for webhook in webhooks.iter().cycle().take(9) {
        // Over the connection that the calls above opened.
        deliveries.push(gateway.publish(webhook, "{}").await);
    }
    logged(&log, "worker.paused", 4).await;
    assert!(receiver.requests().is_empty(), "nothing could be sent");
    limit(&gateway, getrlimit(Resource::Nofile).maximum);
    for delivery in &deliveries {
        let row = gateway.settled(delivery).await;
        let result = (&row["status"], &row["attempt_count"]);
        assert_eq!(result, (&json!("delivered"), &json!(1)), "{row}");
    }
    for webhook in &webhooks {
        let path = format!("/v1/webhooks/{webhook}");
        let shown = gateway.call(Method::GET, &path, None).await;
        let health = (&shown["status"], &shown["failure_count"]);
        assert_eq!(health, (&json!("active"), &json!(0)), "{shown}");
    }
    assert_eq!(receiver.requests().len(), deliveries.len());
}

#[tokio::test]
async fn settings_that_need_more_descriptors_than_there_are_prevent_the_start() {
    let data = tempfile::tempdir().unwrap();
    let started = tokio::process::Command::new("sh")
        .args([
            "-c",
            "ulimit -n 256 && exec \"$0\" serve --listen 127.0.0.1:0 --data \"$1\"",
        ])
        .args([command::binary().as_path(), data.path()])
        .env_clear()
        .output();
    let ended = tokio::time::timeout(PATIENCE, started).await.unwrap();
    let ended = ended.unwrap();
    assert!(!ended.status.success());
    let said = String::from_utf8_lossy(&ended.stderr);
    for part in ["2640", "256", "POSTRIDER_CONCURRENCY (1024)"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}
