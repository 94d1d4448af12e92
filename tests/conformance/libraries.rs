//! The libraries, each in its own process.

use std::process::Stdio;

use postrider_adapter_system::SystemClock;
use postrider_ports::clock::Clock;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::repository;

#[derive(Clone, Copy)]
enum Language {
    Python,
    Node,
}

/// One library.
#[derive(Clone, Copy)]
pub(super) struct Library {
    name: &'static str,
    language: Language,
}

pub(super) const fn python(name: &'static str) -> Library {
    Library {
        name,
        language: Language::Python,
    }
}

pub(super) const fn node(name: &'static str) -> Library {
    Library {
        name,
        language: Language::Node,
    }
}

/// A request, signed or to be signed.
#[derive(Clone, Default)]
pub(super) struct Request {
    /// The URL as its sender sees it, with the query.
    pub(super) url: String,
    pub(super) content_type: &'static str,
    /// The headers of the signature.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

/// What a library has to sign.
pub(super) struct Order {
    pub(super) request: Request,
    pub(super) secret: String,
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) at: i64,
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    SystemClock.now().as_seconds()
}

impl Library {
    /// The requests with the headers that the library creates.
    pub(super) async fn sign(self, orders: Vec<Order>) -> Vec<Request> {
        let asked = orders.iter().map(|order| {
            let mut asked = self.question("sign", &order.secret, &order.request);
            asked["id"] = json!(order.id);
            asked["at"] = json!(order.at);
            asked
        });
        let answers = self.ask(asked.collect()).await;
        let requests = orders.into_iter().map(|order| order.request);
        let signed = requests.zip(answers).map(|(request, answer)| {
            assert_eq!(answer["ok"], true, "{answer}");
            let headers = answer["headers"].as_object().unwrap().iter();
            let headers = headers.map(|(name, value)| (name.clone(), text(value)));
            Request {
                url: text(&answer["url"]),
                headers: headers.collect(),
                ..request
            }
        });
        signed.collect()
    }

    /// Whether the library accepts each request as signed with this secret.
    pub(super) async fn verify(self, requests: &[(String, Request)]) -> Vec<bool> {
        let asked = requests.iter().map(|(secret, request)| {
            let mut asked = self.question("verify", secret, request);
            asked["headers"] = request.headers.iter().cloned().collect();
            asked
        });
        let answers = self.ask(asked.collect()).await;
        answers.iter().map(|answer| answer["ok"] == true).collect()
    }

    fn question(self, what: &str, secret: &str, request: &Request) -> Value {
        json!({
            "do": what, "library": self.name, "secret": secret, "url": request.url,
            "content_type": request.content_type, "body": request.body,
        })
    }

    fn program(self) -> Command {
        let folder = repository().join("tests/conformance");
        let (program, script) = match self.language {
            Language::Python => (
                repository().join(".tools/venv/bin/python"),
                folder.join("libraries.py"),
            ),
            Language::Node => ("node".into(), folder.join("libraries.mjs")),
        };
        let mut command = Command::new(program);
        command.arg(script);
        command
    }

    async fn ask(self, questions: Vec<Value>) -> Vec<Value> {
        let mut child = self
            .program()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the library starts; `make setup` installs what it needs");
        let mut input = child.stdin.take().unwrap();
        for question in &questions {
            let line = format!("{question}\n");
            input.write_all(line.as_bytes()).await.unwrap();
        }
        drop(input);
        let output = child.wait_with_output().await.unwrap();
        assert!(output.status.success(), "run `make setup`");
        let lines = String::from_utf8(output.stdout).unwrap();
        let answers: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(answers.len(), questions.len());
        answers
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
