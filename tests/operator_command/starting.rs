//! What `postrider serve` prints at startup.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::terminal::Terminal;
use crate::command::{PATIENCE, binary};
use crate::inbound_command::Stage;

/// The startup output of a gateway without a terminal, and the key that it generated.
async fn startup_output(data: &Path, options: &[&str]) -> (String, String) {
    let mut child = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .args(options)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut output = String::new();
    let reading = async {
        while !output.contains("deliveries list") {
            let line = lines.next_line().await.unwrap().expect("it runs");
            output.push_str(&line);
            output.push('\n');
        }
    };
    let read = tokio::time::timeout(PATIENCE, reading).await;
    read.expect("it prints all of it");
    child.kill().await.unwrap();
    let file = data.join("admin-token");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    (
        output,
        std::fs::read_to_string(file).unwrap().trim().to_owned(),
    )
}

#[tokio::test]
async fn without_a_terminal_the_key_and_the_login_link_are_not_printed() {
    let data = tempfile::tempdir().unwrap();
    let (output, key) = startup_output(data.path(), &[]).await;
    assert!(
        !output.contains(&key) && !output.contains("once="),
        "{output}"
    );
    assert!(
        output.contains("admin-token") && output.contains("--print-login"),
        "it prints where the key is: {output}"
    );
    let wanted = tempfile::tempdir().unwrap();
    let (output, key) = startup_output(wanted.path(), &["--print-login"]).await;
    assert!(
        output.contains(&key) && output.contains("once="),
        "{output}"
    );
}

#[tokio::test]
async fn on_a_terminal_the_login_link_is_printed() {
    let stage = Stage::new().await;
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let line = ["serve", "--listen", "127.0.0.1:0", "--data", data];
    let mut terminal = Terminal::start(&stage, (120, 40), &line);
    terminal.shows("/inspector/login?once=").await;
    terminal.signal("SIGKILL").await;
    terminal.end().await;
}
