//! Publishers that record what was acknowledged.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::command::TOKEN;

const PUBLISHERS: usize = 8;
/// The minimum wait between two events of a publisher: enough load that attempts are in flight at each kill, and little
/// enough for thousands of kills.
const PACE: Duration = Duration::from_millis(5);

/// Publish until the gateway is gone.
pub(super) struct Publishers(JoinSet<()>);

impl Publishers {
    /// The payloads name the round and are padded by so many bytes.
    pub(super) fn start(
        url: &str,
        webhook: &str,
        (round, padding): (usize, usize),
        acknowledged: &Arc<Mutex<Vec<String>>>,
    ) -> Self {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let padding = "x".repeat(padding);
        let mut publishers = JoinSet::new();
        for n in 0..PUBLISHERS {
            let (client, acknowledged) = (client.clone(), Arc::clone(acknowledged));
            let (url, webhook) = (format!("{url}/v1/events"), webhook.to_owned());
            let padding = padding.clone();
            publishers.spawn(async move {
                let mut pace = tokio::time::interval(PACE);
                for count in 0.. {
                    pace.tick().await;
                    let body = format!(
                        r#"{{"type":"chaos.event","webhook_id":"{webhook}","payload":[{round},{n},{count},"{padding}"]}}"#
                    );
                    let request = client.post(&url).bearer_auth(TOKEN).body(body);
                    let request = request.header("content-type", "application/json");
                    let Ok(response) = request.send().await else { return };
                    let accepted = response.status() == 202;
                    let Ok(answer) = response.bytes().await else { return };
                    assert!(accepted, "{}", String::from_utf8_lossy(&answer));
                    let answer: Value = serde_json::from_slice(&answer).unwrap();
                    let id = answer["deliveries"][0]["id"].as_str().unwrap().to_owned();
                    acknowledged.lock().push(id);
                }
            });
        }
        Self(publishers)
    }

    /// Returns when all have noticed that the gateway is gone.
    pub(super) async fn stop(mut self) {
        while let Some(ended) = self.0.join_next().await {
            ended.unwrap();
        }
    }
}
