//! The commands for inbound webhooks: the real binary against a real gateway.

mod diagnosing;
mod listening;
mod sources;
mod triggering;

use std::process::Stdio;

use http::Method;
use postrider_testkit::receiver::Receiver;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::command::{PATIENCE, Serve, TOKEN, binary};

pub(crate) const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

/// A gateway, and a webhook to a receiver.
pub(crate) struct Stage {
    pub(crate) gateway: Serve,
    pub(crate) receiver: Receiver,
    pub(crate) webhook: String,
}

/// The result of a command.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("{} {}", self.out, self.err))
    }

    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        self
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let receiver = Receiver::start().await;
        let gateway = Serve::start(&[OPEN]).await;
        let webhook = gateway
            .webhook(&receiver.url(), &json!({"profile": "gateway"}))
            .await;
        Self {
            gateway,
            receiver,
            webhook,
        }
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .env_clear()
            .env("NO_COLOR", "1")
            .env("POSTRIDER_URL", &self.gateway.url)
            .env("POSTRIDER_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    pub(crate) async fn run(&self, args: &[&str]) -> Ended {
        self.run_with_input(args, b"").await
    }

    pub(crate) async fn run_with_input(&self, args: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).await.unwrap();
        let ended = tokio::time::timeout(PATIENCE, child.wait_with_output());
        let ended = ended.await.expect("it ends").unwrap();
        Ended {
            code: ended.status.code().unwrap(),
            out: String::from_utf8(ended.stdout).unwrap(),
            err: String::from_utf8(ended.stderr).unwrap(),
        }
    }

    /// Creates a source with a generated secret that routes everything to the webhook; returns its id and signing key.
    async fn source(&self, scheme: &str) -> (String, String) {
        let route = format!("*=review:cluster->{}", self.webhook);
        let line = [
            "sources",
            "create",
            "--scheme",
            scheme,
            "--generate",
            "--public-url",
            "https://hooks.example/in",
            "--route",
            &route,
            "--json",
        ];
        let created = self.run(&line).await.well().json();
        let key = created["private_key"]
            .as_str()
            .or(created["secret"].as_str());
        (
            created["id"].as_str().unwrap().to_owned(),
            key.unwrap().to_owned(),
        )
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.gateway.call(Method::GET, path, None).await
    }
}
