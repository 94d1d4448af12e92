//! MiniStack, the local AWS emulator, as a process of its own that can be stopped and started again.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::command::PATIENCE;

/// The root of the repository.
pub(super) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A tool that `tools/setup` installs, with a clean environment: an inherited key or endpoint would send the calls to the
/// real AWS.
pub(super) fn tool(name: &str) -> Command {
    let tools = repository().join(".tools/aws/bin");
    let tool = tools.join(name);
    assert!(
        tool.exists(),
        "{} is missing: run tools/setup",
        tool.display()
    );
    let mut command = Command::new(tool);
    command.env_clear().env(
        "PATH",
        format!("{}:/usr/local/bin:/usr/bin:/bin", tools.display()),
    );
    command
}

/// Where the `aws` tool is.
pub(super) fn aws_tool_folder() -> PathBuf {
    let folder = repository().join(".tools/awscli/bin");
    assert!(
        folder.join("aws").exists(),
        "{} has no aws: run tools/setup",
        folder.display()
    );
    folder
}

/// An emulator, stopped when dropped.
pub(super) struct Emulator {
    /// Its state, its log and its build output.
    pub(super) folder: tempfile::TempDir,
    port: u16,
    process: Option<Child>,
}

impl Emulator {
    /// Starts one on a free port. It enforces each function's role.
    pub(super) async fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let folder = tempfile::tempdir().unwrap();
        let mut emulator = Self {
            folder,
            port,
            process: None,
        };
        emulator.run().await;
        emulator
    }

    async fn run(&mut self) {
        let log = self.folder.path().join("emulator.log");
        let log = File::options().create(true).append(true).open(log).unwrap();
        let python = concat!(env!("CARGO_MANIFEST_DIR"), "/aws/emulator");
        let process = tool("ministack")
            .env("HOME", self.folder.path())
            .env("TMPDIR", self.folder.path())
            .env("GATEWAY_PORT", self.port.to_string())
            .env("BIND_HOST", "127.0.0.1")
            .env("IOT_MTLS_ENABLED", "0")
            .env("SFTP_ENABLED", "0")
            // The functions inherit this; without it they would call the real AWS.
            .env("AWS_ENDPOINT_URL", self.url())
            .env("AUTH", "true")
            .env("PERSIST_STATE", "1")
            .env("STATE_DIR", self.state())
            .env("PYTHONPATH", python)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            // The functions exit when the emulator is gone.
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        self.process = Some(process);
        let ready = format!("{}/_ministack/ready", self.url());
        let mut looks = tokio::time::interval(Duration::from_millis(50));
        let wait = async {
            while !matches!(reqwest::get(&ready).await, Ok(answer) if answer.status().is_success())
            {
                looks.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .expect("the emulator is ready");
    }

    /// Stops everything, including functions, and starts it again on the stored state.
    pub(super) async fn restart(&mut self) {
        let mut process = self.process.take().unwrap();
        let pid = process.id().unwrap().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status().await;
        assert!(asked.unwrap().success());
        tokio::time::timeout(PATIENCE, process.wait())
            .await
            .expect("the emulator stops")
            .unwrap();
        self.rewind_streams();
        self.run().await;
    }

    /// Kills all processes of a function, as if their machines had failed; returns how many.
    pub(super) async fn kill(&self, function: &str) -> usize {
        let name = format!("AWS_LAMBDA_FUNCTION_NAME=postrider-dev-{function}");
        let emulator = format!("AWS_ENDPOINT_URL={}", self.url());
        let mut killed = 0;
        for process in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(environment) = std::fs::read(process.path().join("environ")) else {
                continue;
            };
            let has = |variable: &str| {
                environment
                    .split(|byte| *byte == 0)
                    .any(|one| one == variable.as_bytes())
            };
            if has(&name) && has(&emulator) {
                let pid = process.file_name();
                let done = Command::new("kill").arg("-KILL").arg(pid).status().await;
                killed += usize::from(done.unwrap().success());
            }
        }
        killed
    }

    /// The emulator stores the read position of a stream but not the stream, and would skip as many records again.
    fn rewind_streams(&self) {
        let path = self.state().join("lambda.json");
        let mut kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        kept["payload"]["dynamodb_stream_positions"]["data"] = json!({});
        std::fs::write(&path, kept.to_string()).unwrap();
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The variables that make a program use it as AWS.
    pub(super) fn credentials(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT_URL", self.url()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
        ]
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("emulator.log")).unwrap()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let end = lines.len().saturating_sub(120);
            println!("the emulator's log ends:\n{}", lines[end..].join("\n"));
        }
    }
}
