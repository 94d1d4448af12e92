//! A client of a gateway's API, wherever the gateway runs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::command::PATIENCE;

/// The API of one gateway.
pub struct Api {
    pub url: String,
    pub token: String,
    client: reqwest::Client,
}

impl Api {
    /// The API at this address, called with this key.
    ///
    /// # Panics
    /// Never: the client's settings are fixed.
    #[must_use]
    pub fn new(url: String, token: String) -> Self {
        let client = reqwest::Client::builder()
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .unwrap();
        Self { url, token, client }
    }

    /// Calls the API; returns status and body.
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
            .bearer_auth(&self.token);
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
    /// When the response is an error.
    pub async fn call(&self, method: http::Method, path: &str, body: Option<Value>) -> Value {
        let (status, answer) = self
            .try_call(method, path, body.map(|body| body.to_string()))
            .await
            .unwrap();
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    /// Creates a webhook for every event type; returns its id.
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
            .expect("the delivery is closed")
    }
}
