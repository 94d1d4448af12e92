//! HTTP requests as API Gateway hands them to a function, and the responses.

use serde_json::{Value, json};

use super::emulated::Emulated;
use crate::command::TOKEN;

const SAMPLE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../infra/events/api.json"
));

/// The sample event as another request.
fn event(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Value {
    let mut event: Value = serde_json::from_str(SAMPLE).unwrap();
    event["rawPath"] = path.into();
    event["requestContext"]["http"]["method"] = method.into();
    event["requestContext"]["http"]["path"] = path.into();
    event["headers"] = json!({"host": "example.com", "content-type": "application/json"});
    for (name, value) in headers {
        event["headers"][*name] = (*value).into();
    }
    event["body"] = body.into();
    event
}

impl Emulated {
    /// Sends it a request; returns status and body.
    pub(super) async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u64, Value) {
        let answer = self.invoke(&event(method, path, headers, body)).await;
        let status = answer["statusCode"].as_u64();
        let status = status.unwrap_or_else(|| panic!("{answer}"));
        let text = answer["body"].as_str().unwrap_or_default();
        (status, serde_json::from_str(text).unwrap_or(Value::Null))
    }

    /// Calls the API with the first key and expects success.
    pub(super) async fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let bearer = format!("Bearer {TOKEN}");
        let headers = [("authorization", bearer.as_str())];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let (status, answer) = self.request(method, path, &headers, &body).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }
}
