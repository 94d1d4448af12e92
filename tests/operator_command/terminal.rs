//! Runs a command on a real terminal and reads its screen.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::command::{PATIENCE, TOKEN, binary};
use crate::conformance::repository;
use crate::inbound_command::Stage;

/// See terminal.py.
pub(super) struct Terminal {
    child: Child,
    requests: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

/// How a command left its terminal.
pub(super) struct Left {
    pub(super) code: i64,
    /// Whether the terminal has its original state.
    pub(super) restored: bool,
    /// Whether the command wrote in colour.
    pub(super) colours: bool,
    pub(super) screen: String,
}

impl Terminal {
    /// Runs `postrider` with these arguments on a terminal of this size.
    pub(super) fn start(stage: &Stage, size: (u16, u16), args: &[&str]) -> Self {
        Self::start_with(stage, size, args, &[])
    }

    /// The same, with additional environment variables.
    pub(super) fn start_with(
        stage: &Stage,
        (columns, rows): (u16, u16),
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut child = Command::new(repository().join(".tools/venv/bin/python"))
            .arg(repository().join("tests/operator_command/terminal.py"))
            .args([columns.to_string(), rows.to_string()])
            .arg(binary())
            .args(args)
            .env_clear()
            .env("TERM", "xterm-256color")
            .env("POSTRIDER_URL", &stage.gateway.url)
            .env("POSTRIDER_TOKEN", TOKEN)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the terminal starts; `make setup` installs what it needs");
        Self {
            requests: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        }
    }

    async fn ask(&mut self, request: Value) -> Value {
        let line = format!("{request}\n");
        self.requests.write_all(line.as_bytes()).await.unwrap();
        let answer = tokio::time::timeout(2 * PATIENCE, self.answers.next_line()).await;
        let answer = answer.expect("the terminal responds").unwrap();
        let answer = answer.unwrap_or_else(|| panic!("timed out: {request}"));
        serde_json::from_str(&answer).unwrap()
    }

    /// Waits until a text is on the screen; returns the screen.
    pub(super) async fn shows(&mut self, text: &str) -> String {
        screen(&self.ask(json!({"wait": text})).await)
    }

    /// Waits until a text is no longer on the screen.
    pub(super) async fn hides(&mut self, text: &str) {
        self.ask(json!({"wait_gone": text})).await;
    }

    pub(super) async fn press(&mut self, keys: &str) {
        self.ask(json!({"press": keys})).await;
    }

    pub(super) async fn resize(&mut self, columns: u16, rows: u16) {
        self.ask(json!({"resize": [columns, rows]})).await;
    }

    pub(super) async fn signal(&mut self, name: &str) {
        self.ask(json!({"signal": name})).await;
    }

    /// Waits until the command has ended.
    pub(super) async fn end(mut self) -> Left {
        let answer = self.ask(json!({"end": true})).await;
        self.child.wait().await.unwrap();
        Left {
            code: answer["ended"].as_i64().unwrap(),
            restored: answer["restored"].as_bool().unwrap(),
            colours: answer["colours"].as_bool().unwrap(),
            screen: screen(&answer),
        }
    }
}

fn screen(answer: &Value) -> String {
    let lines = answer["lines"].as_array().unwrap().iter();
    let lines = lines.map(|line| line.as_str().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}
