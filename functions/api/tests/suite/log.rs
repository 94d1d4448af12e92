//! What is logged, and what never is.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use http::Method;
use serde_json::json;
use tracing::Level;

use crate::stage::{Stage, new_webhook};

/// Collects what this test's thread logs; other tests run in parallel.
#[derive(Clone)]
struct Kept {
    thread: ThreadId,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if thread::current().id() == self.thread {
            self.bytes.lock().unwrap().extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_request_is_one_log_line_without_the_callers_input() {
    let kept = Kept {
        thread: thread::current().id(),
        bytes: Arc::default(),
    };
    let writer = kept.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    // A default for this thread alone would miss call sites that another thread reached first.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let stage = Stage::new().await;
    let mut webhook = new_webhook();
    webhook["secret"] = json!("whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5");
    webhook["headers"] = json!({"authorization": "canary"});
    stage.post("/v1/webhooks", webhook).await.expect(201);
    stage.publish(json!("canary")).await;
    stage
        .get("/v1/deliveries?session_id=canary")
        .await
        .expect(200);
    stage.get("/v1/deliveries?canary=1").await;
    stage.get("/v1/webhooks/canary").await;
    stage.get("/canary").await;
    stage.call("canary", Method::GET, "/v1/keys", "").await;
    stage.post("/v1/events", "{\"canary").await;
    let lines = String::from_utf8(kept.bytes.lock().unwrap().clone()).unwrap();
    for part in [
        "canary",
        "whsec_",
        stage.admin.as_str(),
        "prk_",
        "receiver.example",
    ] {
        assert!(!lines.contains(part), "{part} in {lines}");
    }
    let requests: Vec<_> = lines
        .lines()
        .filter(|line| line.contains("api.request"))
        .collect();
    assert_eq!(requests.len(), 8, "{lines}");
    assert!(
        requests[4].contains("/v1/webhooks/{id}") && requests[4].contains("http.status=404"),
        "{lines}"
    );
}
