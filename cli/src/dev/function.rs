//! A function behind the Lambda Invoke API: `cargo lambda watch`, `sam local start-lambda`, the Runtime Interface
//! Emulator.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use url::Url;

use super::{Stop, say};
use crate::edge;
use crate::output::printable_line;

/// The longest that AWS lets a function run.
const LONGEST_RUN: Duration = Duration::from_secs(900);
/// How often to retry while a function is not running.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const SHOWN_CHARS: usize = 200;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The function returned this.
    Done(Value),
    /// The function failed.
    Failed(String),
}

pub(super) struct Function {
    name: &'static str,
    url: Url,
    client: reqwest::Client,
}

impl Function {
    /// The function of this name at `host`, or at `url` if it has another name there.
    pub(super) fn at(name: &'static str, host: &Url, url: Option<Url>) -> anyhow::Result<Self> {
        let path = format!("/2015-03-31/functions/{name}/invocations");
        let url = match url {
            Some(url) => url,
            None => host.join(&path).context("--invoke")?,
        };
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(LONGEST_RUN)
            .build()?;
        Ok(Self { name, url, client })
    }

    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    /// Invokes the function. Waits while it is not running, and prints that once; none if stopped meanwhile.
    pub(super) async fn invoke(&self, event: &Value, stop: &mut Stop) -> Option<Answer> {
        let mut is_reported = false;
        loop {
            match self.try_invoke(event).await {
                Ok(answer) => return Some(answer),
                Err(why) if !is_reported => {
                    say(format_args!(
                        "{}  waiting for it to start: {why}",
                        self.name
                    ));
                    is_reported = true;
                }
                Err(_) => {}
            }
            tokio::select! {
                _ = stop.wait_for(|stopped| *stopped) => return None,
                () = edge::pause(RETRY_AFTER) => {}
            }
        }
    }

    async fn try_invoke(&self, event: &Value) -> Result<Answer, String> {
        let sent = self.client.post(self.url.clone()).json(event).send().await;
        let response = sent.map_err(|error| format!("{:#}", anyhow::Error::new(error)))?;
        let status = response.status();
        let marked = response.headers().contains_key("x-amz-function-error");
        let text = response.text().await.map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        if marked || answer.get("errorType").is_some() {
            Ok(Answer::Failed(reason(&answer)))
        } else if status.is_success() {
            Ok(Answer::Done(answer))
        } else {
            Err(format!("{} responded with {status}", self.url))
        }
    }
}

fn reason(answer: &Value) -> String {
    let part = |name| answer.get(name).and_then(Value::as_str).unwrap_or("?");
    let reason = format!("{}: {}", part("errorType"), part("errorMessage"));
    printable_line(&reason, SHOWN_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::routing::post;
    use http::StatusCode;
    use parking_lot::Mutex;
    use serde_json::json;
    use std::sync::Arc;
    use tokio::net::TcpListener;
    use tokio::sync::watch;

    /// A function that returns these responses in order.
    async fn answering(answers: &[(u16, &str)]) -> Function {
        let answers: Vec<_> = answers
            .iter()
            .rev()
            .map(|(status, body)| (StatusCode::from_u16(*status).unwrap(), (*body).to_owned()))
            .collect();
        let answers = Arc::new(Mutex::new(answers));
        let answer = move || std::future::ready(answers.lock().pop().unwrap());
        let path = "/2015-03-31/functions/postrider-poller/invocations";
        let router = Router::new().route(path, post(answer));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Function::at("postrider-poller", &host.parse().unwrap(), None).unwrap()
    }

    #[tokio::test]
    async fn invoke_waits_for_a_function_to_start() {
        let function = answering(&[(502, "not yet"), (200, r#"{"messages_sent": 3}"#)]).await;
        let (_running, mut stop) = watch::channel(false);
        let answer = function.invoke(&json!({}), &mut stop).await;
        assert_eq!(answer, Some(Answer::Done(json!({"messages_sent": 3}))));
    }

    #[tokio::test]
    async fn invoke_does_not_wait_when_stopped() {
        let host = "http://127.0.0.1:1".parse().unwrap();
        let function = Function::at("postrider-poller", &host, None).unwrap();
        let (_stopping, mut stop) = watch::channel(true);
        assert_eq!(function.invoke(&json!({}), &mut stop).await, None);
    }

    #[tokio::test]
    async fn an_error_of_the_function_is_a_failure() {
        let error = r#"{"errorType": "Broken", "errorMessage": "the store\nis gone"}"#;
        let function = answering(&[(200, error), (500, error)]).await;
        let (_running, mut stop) = watch::channel(false);
        for _ in 0..2 {
            let answer = function.invoke(&json!({}), &mut stop).await;
            let failed = Answer::Failed("Broken: the store is gone".to_owned());
            assert_eq!(answer, Some(failed));
        }
    }
}
