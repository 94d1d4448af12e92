//! The gateway cannot write to its disk.

use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::command::{self, Serve};

/// Sets how large the files of a running gateway may be: with 0, every write fails, as on a full disk.
fn limit(gateway: &Serve, bytes: Option<u64>) {
    let pid = Pid::from_raw(gateway.pid().cast_signed());
    let limits = Rlimit {
        current: bytes,
        maximum: None,
    };
    prlimit(pid, Resource::Fsize, limits).unwrap();
}

async fn status(gateway: &Serve, path: &str) -> u16 {
    let url = format!("{}{path}", gateway.url);
    let answer = reqwest::Client::new().get(url).send().await;
    answer.unwrap().status().as_u16()
}

/// Waits until the health check has this result: it is cached for a moment.
async fn becomes(gateway: &Serve, expected: u16) {
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(100));
    let wait = async {
        while status(gateway, "/healthz").await != expected {
            looks.tick().await;
        }
    };
    let waited = tokio::time::timeout(command::PATIENCE, wait).await;
    waited.unwrap_or_else(|_| panic!("/healthz answers {expected}"));
}

#[tokio::test]
async fn a_gateway_that_cannot_write_asks_for_no_traffic_and_for_no_restart() {
    let data = tempfile::tempdir().unwrap();
    let gateway = Serve::start_limited(data.path()).await;
    becomes(&gateway, 200).await;
    limit(&gateway, Some(0));
    becomes(&gateway, 503).await;
    assert_eq!(status(&gateway, "/livez").await, 200);
    limit(&gateway, None);
    becomes(&gateway, 200).await;
}
