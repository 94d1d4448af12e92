//! The real `postrider dev`, started as its own process.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::command::{self, PATIENCE, TOKEN};

/// A running `postrider dev`, stopped when dropped.
pub(super) struct Dev {
    process: Child,
    /// The value of `POSTRIDER_DEV_URL` for functions.
    pub(super) url: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Dev {
    /// Starts one on this directory that invokes dispatcher and poller at these URLs.
    pub(super) async fn start(data: &Path, dispatcher: &str, poller: &str) -> Self {
        let mut process = Command::new(command::binary())
            .args(["dev", "--listen", "127.0.0.1:0", "--tick-seconds", "1"])
            .args(["--dispatcher", dispatcher])
            .args(["--poller", poller])
            .arg("--data")
            .arg(data)
            .env_clear()
            .env("POSTRIDER_ADMIN_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = async {
            loop {
                let line = said.next_line().await.unwrap().expect("it starts");
                if let Some((_, url)) = line.split_once("POSTRIDER_DEV_URL=") {
                    return url.to_owned();
                }
            }
        };
        let url = tokio::time::timeout(PATIENCE, url)
            .await
            .expect("it prints its address");
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        tokio::spawn(async move {
            while let Ok(Some(line)) = said.next_line().await {
                kept.lock().push(line);
            }
        });
        Self {
            process,
            url,
            lines,
        }
    }

    /// Kills it, and with it the contents of its queue.
    pub(super) async fn kill(mut self) {
        self.process.kill().await.unwrap();
    }

    /// Stops it and returns whether it exited with success.
    pub(super) async fn terminate(mut self) -> bool {
        let pid = self.process.id().unwrap().to_string();
        let asked = Command::new("kill").args(["-INT", &pid]).status().await;
        assert!(asked.unwrap().success());
        let ended = tokio::time::timeout(PATIENCE, self.process.wait()).await;
        ended.expect("it exits").unwrap().success()
    }

    /// Its output about a function.
    pub(super) fn output_about(&self, function: &str) -> Vec<String> {
        let lines = self.lines.lock();
        let about = lines.iter().filter(|line| line.contains(function));
        about.cloned().collect()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("postrider dev said:\n{}", self.lines.lock().join("\n"));
        }
    }
}
