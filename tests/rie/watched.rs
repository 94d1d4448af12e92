//! The functions under `cargo lambda watch`, as `tools/watch` runs them.

use std::process::Stdio;

use postrider_testkit::receiver::Receiver;
use postrider_tests::api::Api;
use serde_json::json;
use tokio::process::{Child, Command};

use super::dev::Dev;
use super::emulated::free_address;
use crate::command::{self, TOKEN};
use crate::conformance::repository;

/// A process group: `cargo lambda watch` starts the functions.
struct Watch(Child);

impl Watch {
    fn start(address: &str, dev_url: &str) -> Self {
        let port = address.rsplit(':').next().unwrap();
        let process = Command::new(repository().join("tools/watch"))
            .args(["--invoke-port", port])
            .env(
                "POSTRIDER_BINARIES",
                command::binary().with_file_name("local"),
            )
            .env("POSTRIDER_DEV_URL", dev_url)
            .env("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        Self(process)
    }

    /// As Ctrl-C in its terminal.
    async fn stop(mut self) {
        let group = format!("-{}", self.0.id().unwrap());
        let asked = Command::new("kill").args(["-INT", "--", &group]).status();
        assert!(asked.await.unwrap().success());
        let ended = tokio::time::timeout(command::PATIENCE, self.0.wait()).await;
        ended.expect("it exits").unwrap();
    }
}

impl Drop for Watch {
    /// A test that failed leaves no functions behind.
    fn drop(&mut self) {
        if let Some(group) = self.0.id() {
            let group = format!("-{group}");
            let _ = std::process::Command::new("kill")
                .args(["-KILL", "--", &group])
                .status();
        }
    }
}

#[tokio::test]
async fn rie_functions_run_under_cargo_lambda_watch() {
    let (data, address) = (tempfile::tempdir().unwrap(), free_address());
    let function = |name| format!("http://{address}/2015-03-31/functions/{name}/invocations");
    let (dispatcher, poller) = (
        function("postrider-dispatcher"),
        function("postrider-poller"),
    );
    let dev = Dev::start(data.path(), &dispatcher, &poller).await;
    let watch = Watch::start(&address, &dev.url);
    let url = format!("http://{address}/lambda-url/postrider-api");
    command::answers(&format!("{url}/healthz")).await;
    let api = Api::new(url, TOKEN.to_owned());
    let receiver = Receiver::start().await;
    let webhook = api
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let delivery = api.publish(&webhook, "{}").await;
    assert_eq!(api.settled(&delivery).await["status"], "delivered");
    watch.stop().await;
    assert!(dev.terminate().await);
}
