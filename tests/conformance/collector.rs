//! An OTLP receiver that reads with the OpenTelemetry project's own messages.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::repository;
use crate::command::PATIENCE;

/// A running OTLP receiver, stopped when dropped.
pub(crate) struct Collector {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// The value for the endpoint setting.
    pub(crate) url: String,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let mut child = Command::new(repository().join(".tools/venv/bin/python"))
            .arg(repository().join("tests/conformance/collector.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the collector starts; `make setup` installs what it needs");
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = next(&mut lines).await.expect("it prints its address");
        Self {
            child,
            lines,
            url: format!("http://127.0.0.1:{}", first["port"]),
        }
    }

    /// The next span that it receives.
    pub(crate) async fn span(&mut self) -> Value {
        next(&mut self.lines).await.expect("a span")
    }

    /// The spans received so far, without those already taken.
    pub(crate) async fn end(mut self) -> Vec<Value> {
        drop(self.child.stdin.take());
        let mut spans = Vec::new();
        while let Some(span) = next(&mut self.lines).await {
            spans.push(span);
        }
        spans
    }
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<Value> {
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await;
    let line = line.expect("it continues or ends").unwrap()?;
    Some(serde_json::from_str(&line).unwrap())
}
