//! What `postrider serve` says, and to whom.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::terminal::Terminal;
use crate::command::{PATIENCE, binary};
use crate::inbound_command::Stage;

/// The first lines of a gateway whose output nobody sees, and the key that it made.
async fn first_lines(data: &Path, options: &[&str]) -> (String, String) {
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
    let mut said = String::new();
    let reading = async {
        while !said.contains("deliveries list") {
            let line = lines.next_line().await.unwrap().expect("it runs");
            said.push_str(&line);
            said.push('\n');
        }
    };
    let read = tokio::time::timeout(PATIENCE, reading).await;
    read.expect("it says all of it");
    child.kill().await.unwrap();
    let file = data.join("admin-token");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    (
        said,
        std::fs::read_to_string(file).unwrap().trim().to_owned(),
    )
}

#[tokio::test]
async fn what_lets_somebody_in_is_not_written_where_a_log_may_be() {
    let data = tempfile::tempdir().unwrap();
    let (said, key) = first_lines(data.path(), &[]).await;
    assert!(!said.contains(&key) && !said.contains("once="), "{said}");
    assert!(
        said.contains("admin-token") && said.contains("--print-login"),
        "it says where the key is: {said}"
    );
    let wanted = tempfile::tempdir().unwrap();
    let (said, key) = first_lines(wanted.path(), &["--print-login"]).await;
    assert!(said.contains(&key) && said.contains("once="), "{said}");
}

#[tokio::test]
async fn on_a_terminal_the_first_lines_let_somebody_in() {
    let stage = Stage::new().await;
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let line = ["serve", "--listen", "127.0.0.1:0", "--data", data];
    let mut terminal = Terminal::start(&stage, (120, 40), &line);
    terminal.shows("/inspector/login?once=").await;
    terminal.signal("SIGKILL").await;
    terminal.end().await;
}
