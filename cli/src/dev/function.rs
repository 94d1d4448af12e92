//! A function behind the Lambda Invoke API: `cargo lambda watch`, `sam local start-lambda`, the Runtime Interface
//! Emulator.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use url::Url;

use super::{Stop, say};
use crate::edge;
use crate::output::printable_line;

/// The longest that a function may run on AWS.
const LONGEST_RUN: Duration = Duration::from_secs(900);
/// How often a function that is not up is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
const SHOWN_CHARS: usize = 200;

/// What an invocation came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It ran, and says this.
    Done(Value),
    /// It ran, and failed.
    Failed(String),
}

/// One function.
pub(super) struct Function {
    name: &'static str,
    url: Url,
    client: reqwest::Client,
}

impl Function {
    /// The function of this name at `host`, or at `url` where it is invoked under another name.
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

    /// What it is called.
    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    /// Where it is invoked.
    pub(super) const fn url(&self) -> &Url {
        &self.url
    }

    /// Runs it on this event. One that is not up yet is waited for, and that is said once; none when told to stop
    /// meanwhile.
    pub(super) async fn invoke(&self, event: &Value, stop: &mut Stop) -> Option<Answer> {
        let mut said = false;
        loop {
            match self.try_invoke(event).await {
                Ok(answer) => return Some(answer),
                Err(why) if !said => {
                    say(format_args!("{}  waiting until it is up: {why}", self.name));
                    said = true;
                }
                Err(_) => {}
            }
            tokio::select! {
                _ = stop.wait_for(|stopped| *stopped) => return None,
                () = edge::pause(LOOK_AGAIN) => {}
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
            Err(format!("{} answers {status}", self.url))
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

    /// A function that answers these, one after the other.
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
    async fn a_function_that_is_not_up_is_waited_for() {
        let function = answering(&[(502, "not yet"), (200, r#"{"hints_sent": 3}"#)]).await;
        let (_running, mut stop) = watch::channel(false);
        let answer = function.invoke(&json!({}), &mut stop).await;
        assert_eq!(answer, Some(Answer::Done(json!({"hints_sent": 3}))));
    }

    #[tokio::test]
    async fn nobody_is_waited_for_when_it_is_time_to_stop() {
        let host = "http://127.0.0.1:1".parse().unwrap();
        let function = Function::at("postrider-poller", &host, None).unwrap();
        let (_stopping, mut stop) = watch::channel(true);
        assert_eq!(function.invoke(&json!({}), &mut stop).await, None);
    }

    #[tokio::test]
    async fn an_error_of_the_function_is_no_answer() {
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
