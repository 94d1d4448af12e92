//! The real gateway, in its own process, on its own directory.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use postrider_tests::command::{PATIENCE, Serve};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use tempfile::TempDir;

const SETTINGS: [(&str, &str); 1] = [("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")];

const OPEN_ROWS: &str = "SELECT (SELECT count(*) FROM webhook_deliveries WHERE wake_at IS NOT NULL) \
     + (SELECT count(*) FROM webhook_deliveries WHERE lease_process IS NOT NULL)";

/// A running gateway.
pub(crate) struct Gateway {
    serve: Serve,
    data: TempDir,
}

impl Gateway {
    pub(crate) async fn start(disk: &Path) -> Self {
        let data = tempfile::tempdir_in(disk).unwrap();
        let serve = Serve::start_in(data.path(), &SETTINGS).await;
        Self { serve, data }
    }

    /// Starts one on a directory with data.
    pub(crate) async fn start_over(data: TempDir) -> Self {
        let serve = Serve::start_in(data.path(), &SETTINGS).await;
        Self { serve, data }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.serve.pid()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let address = self.serve.url.strip_prefix("http://").unwrap();
        address.parse().unwrap()
    }

    /// The size of its database once the log is copied into it.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        let database = self.database();
        let number = |name| database.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
        u64::from(number("page_count").unwrap()) * u64::from(number("page_size").unwrap())
    }

    /// Creates a webhook; returns its id.
    pub(crate) async fn webhook(&self, url: &str) -> String {
        self.webhook_under(url, "gateway").await
    }

    /// The same, with this retry profile.
    pub(crate) async fn webhook_under(&self, url: &str, profile: &str) -> String {
        self.serve
            .webhook(url, &json!({ "profile": profile }))
            .await
    }

    /// The same, with these settings.
    pub(crate) async fn webhook_with(&self, url: &str, settings: Value) -> String {
        let mut draft = json!({"name": "bench", "target_url": url});
        if let (Value::Object(draft), Value::Object(settings)) = (&mut draft, settings) {
            draft.extend(settings);
        }
        let webhook = self
            .serve
            .call(http::Method::POST, "/v1/webhooks", Some(draft))
            .await;
        webhook["id"].as_str().unwrap().to_owned()
    }

    fn database(&self) -> Connection {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = self.data.path().join("postrider.db");
        Connection::open_with_flags(file, flags).unwrap()
    }

    /// Returns when no row is due or held.
    pub(crate) async fn idle(&self) {
        let database = self.database();
        let open = || database.query_row(OPEN_ROWS, [], |row| row.get::<_, u32>(0));
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        let wait = async {
            while open().unwrap() > 0 {
                looks.tick().await;
            }
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .expect("it finishes its work");
    }

    /// Kills it; open deliveries stay undelivered.
    pub(crate) async fn kill(mut self) {
        self.serve.kill().await;
    }

    /// Shuts it down cleanly.
    pub(crate) async fn stop(mut self) {
        assert!(self.serve.terminate().await, "it shuts down cleanly");
    }
}
