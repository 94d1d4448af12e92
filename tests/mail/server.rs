//! A real SMTP server in its own process.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::command::PATIENCE;
use crate::conformance::repository;

/// Accepts e-mails on its own port.
pub(super) struct SmtpServer {
    pub(super) port: u16,
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl SmtpServer {
    /// One without TLS and login, on any port.
    pub(super) async fn plain() -> Self {
        Self::start(json!({})).await
    }

    /// One with these options; see tests/mail/server.py.
    pub(super) async fn start(options: Value) -> Self {
        let mut all = json!({"port": 0, "tls": null});
        let fields = options.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(fields);
        let mut child = Command::new(repository().join(".tools/venv/bin/python"))
            .arg("-Wignore")
            .arg(repository().join("tests/mail/server.py"))
            .arg(all.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the server starts; `make setup` installs what it needs");
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut server = Self {
            port: 0,
            child,
            said,
        };
        let port = server.said().await["port"].as_u64().unwrap();
        server.port = u16::try_from(port).unwrap();
        server
    }

    /// Its next output: an e-mail that it accepted, or an address that it rejected.
    pub(super) async fn said(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.said.next_line()).await;
        let line = line.expect("an e-mail arrives").unwrap();
        serde_json::from_str(&line.expect("the server runs")).unwrap()
    }

    /// Its URL, for settings.
    pub(super) fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// Stops it and frees its port.
    pub(super) async fn stop(mut self) -> u16 {
        self.child.kill().await.unwrap();
        self.port
    }
}
