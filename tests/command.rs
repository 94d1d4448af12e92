//! The real `postrider serve`, started as a process of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

/// The key that every started gateway is given.
pub const TOKEN: &str = "test-token-of-more-than-32-characters";
/// How long anything may take before a test gives up.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The binary, built beside the tests.
///
/// # Panics
/// When it was not built.
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
    let mut command = Command::new(binary());
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
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

/// What the gateway says when it refuses to start with these settings.
///
/// # Panics
/// When it starts all the same.
pub async fn refused_start(settings: &[(&str, &str)]) -> String {
    let data = tempfile::tempdir().unwrap();
    let mut child = serve(data.path(), settings)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let status = tokio::time::timeout(PATIENCE, child.wait())
        .await
        .expect("it exits")
        .unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .await
        .unwrap();
    assert!(!status.success(), "it started with {settings:?}");
    said
}

/// A gateway that runs.
pub struct Serve {
    child: Child,
    /// Where its API is.
    pub url: String,
    client: reqwest::Client,
    data: Option<tempfile::TempDir>,
}

impl Serve {
    /// Starts one on a directory of its own, gone with it.
    pub async fn start(settings: &[(&str, &str)]) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut started = Self::start_in(data.path(), settings).await;
        started.data = Some(data);
        started
    }

    /// Starts one on this directory.
    pub async fn start_in(data: &Path, settings: &[(&str, &str)]) -> Self {
        Self::run(serve(data, settings)).await
    }

    /// Starts one on this directory that logs to this file.
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
            .expect("it says something");
        let first = first.unwrap().expect("it says where it listens");
        let url = first.rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://"), "{first}");
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .unwrap();
        Self {
            child,
            url,
            client,
            data: None,
        }
    }

    /// Calls the API; returns status and answer.
    ///
    /// # Errors
    /// When the gateway cannot be reached.
    pub async fn try_call(
        &self,
        method: http::Method,
        path: &str,
        body: Option<String>,
    ) -> reqwest::Result<(u16, Value)> {
        let mut request = self
            .client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(TOKEN);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let text = response.text().await?;
        Ok((status, serde_json::from_str(&text).unwrap_or(Value::Null)))
    }

    /// Calls the API and expects success.
    ///
    /// # Panics
    /// When it is refused.
    pub async fn call(&self, method: http::Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self
            .try_call(method, path, body.map(|body| body.to_string()))
            .await
            .unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    /// Makes a webhook for everything; returns its id.
    pub async fn webhook(&self, target_url: &str, retry: &Value) -> String {
        let draft =
            json!({"name": "test", "target_url": target_url, "event_types": ["*"], "retry": retry});
        let webhook = self
            .call(http::Method::POST, "/v1/webhooks", Some(draft))
            .await;
        webhook["id"].as_str().unwrap().to_owned()
    }

    /// Publishes for one webhook; returns the delivery's id.
    pub async fn publish(&self, webhook: &str, payload: &str) -> String {
        let body =
            format!(r#"{{"type":"task.completed","webhook_id":"{webhook}","payload":{payload}}}"#);
        let (status, answer) = self
            .try_call(http::Method::POST, "/v1/events", Some(body))
            .await
            .unwrap();
        assert_eq!(status, 202, "{answer}");
        answer["deliveries"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Waits until a delivery is delivered or dead; returns it.
    ///
    /// # Panics
    /// When that takes more than a minute.
    pub async fn settled(&self, delivery: &str) -> Value {
        let path = format!("/v1/deliveries/{delivery}");
        let mut looks = tokio::time::interval(Duration::from_millis(50));
        let wait = async {
            loop {
                looks.tick().await;
                let row = self.call(http::Method::GET, &path, None).await;
                if row["status"] == "delivered" || row["status"] == "dead" {
                    return row;
                }
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .expect("it settles")
    }

    /// Its process id.
    ///
    /// # Panics
    /// When it has ended.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Ends it at once, by SIGKILL.
    pub async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }

    /// Asks it to end, by SIGTERM, and returns whether it ended well.
    pub async fn terminate(&mut self) -> bool {
        let pid = self.pid().to_string();
        let asked = Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .await
            .unwrap();
        assert!(asked.success());
        let ended = tokio::time::timeout(PATIENCE, self.child.wait())
            .await
            .expect("it ends");
        ended.unwrap().success()
    }
}
