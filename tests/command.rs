//! The real `postrider serve`, started as a separate process.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::api::Api;

/// The key of every gateway that is started here.
pub const TOKEN: &str = "test-token-of-more-than-32-characters";
/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The binary, in the same target directory as the tests.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests
        .ancestors()
        .find(|folder| folder.join("postrider").is_file());
    folder
        .expect("build the binary first: cargo build --workspace --bins")
        .join("postrider")
}

fn serve(data: &Path, settings: &[(&str, &str)]) -> Command {
    with_arguments(Command::new(binary()), data, settings)
}

fn with_arguments(mut command: Command, data: &Path, settings: &[(&str, &str)]) -> Command {
    command
        .args([
            "serve",
            "--print-login",
            "--listen",
            "127.0.0.1:0",
            "--data",
        ])
        .arg(data)
        .env_clear()
        .env("POSTRIDER_ADMIN_TOKEN", TOKEN)
        .env("POSTRIDER_LOG", "warn")
        .envs(settings.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The error output of a gateway that refuses to start with these settings.
///
/// # Panics
/// If it starts.
pub async fn refused_start(settings: &[(&str, &str)]) -> String {
    let data = tempfile::tempdir().unwrap();
    let mut child = serve(data.path(), settings)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut error = String::new();
    let status = tokio::time::timeout(PATIENCE, child.wait())
        .await
        .expect("it exits")
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .await
        .unwrap();
    assert!(!status.success(), "it started with {settings:?}");
    error
}

/// A running gateway.
pub struct Serve {
    /// The one-time login link.
    pub login: String,
    child: Child,
    api: Api,
    data: Option<tempfile::TempDir>,
}

impl Deref for Serve {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Serve {
    /// Starts one on a temporary directory, which is deleted with it.
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut started = Self::start_in(data.path(), settings).await;
        started.data = Some(data);
        started
    }

    pub async fn start_in(data: &Path, settings: &[(&str, &str)]) -> Self {
        Self::run(serve(data, settings)).await
    }

    /// Starts one for which a write beyond the limit of a file's size is an error, not the end.
    pub async fn start_limited(data: &Path) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"])
            .arg(binary());
        Self::run(with_arguments(shell, data, &[])).await
    }

    /// Starts one that logs to this file.
    pub async fn start_logged(data: &Path, settings: &[(&str, &str)], log: &Path) -> Self {
        let mut command = serve(data, settings);
        command.stderr(std::fs::File::create(log).unwrap());
        Self::run(command).await
    }

    async fn run(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = tokio::time::timeout(PATIENCE, lines.next_line())
            .await
            .expect("it prints a line");
        let first = first.unwrap().expect("it prints its address");
        let url = first.rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://"), "{first}");
        let login = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(link) = line.strip_prefix("Inspector:") {
                    return link.trim().to_owned();
                }
            }
            panic!("it prints where the Inspector is");
        };
        let login = tokio::time::timeout(PATIENCE, login)
            .await
            .expect("it prints more lines");
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            login,
            child,
            api: Api::new(url, TOKEN.to_owned()),
            data: None,
        }
    }

    /// # Panics
    /// If it has ended.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Whether it has not ended by itself.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Sends SIGKILL.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Sends SIGTERM and returns whether it ended successfully.
    pub async fn terminate(&mut self) -> bool {
        let pid = self.pid().to_string();
        let sent = Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .await
            .unwrap();
        assert!(sent.success());
        let ended = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends");
        ended.unwrap().success()
    }
}

/// Waits until there is an answer with success at this URL.
///
/// # Panics
/// If that takes more than a minute.
pub async fn answers(url: &str) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut looks = tokio::time::interval(std::time::Duration::from_millis(100));
    let wait = async {
        loop {
            looks.tick().await;
            if let Ok(answer) = client.get(url).send().await
                && answer.status().is_success()
            {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("it answers");
}
