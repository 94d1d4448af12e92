//! The stack of `template.yaml`, built from the binaries of this checkout and deployed as a user would.

use std::convert::Infallible;
use std::time::Duration;

use postrider_tests::api::Api;
use serde_json::{Value, json};

use super::bridge::Bridge;
use super::emulator::Emulator;
use super::inspecting::Embedder;
use super::{corrections, eventbridge, sam};

pub(super) const FUNCTIONS: [&str; 8] = [
    "receiver",
    "api",
    "poller",
    "dispatcher",
    "publisher",
    "watcher",
    "notifier",
    "bridge",
];
/// The sender of the e-mails.
pub(super) const SENDER: &str = "postrider@example.com";
/// The deployed stack.
pub(super) struct Stack {
    /// Its API, called with the first key.
    pub(super) api: Api,
    pub(super) token: String,
    /// AWS's own API.
    pub(super) aws: Bridge,
    pub(super) emulator: Emulator,
    /// A site that may embed the portal.
    pub(super) embedder: Embedder,
    outputs: Value,
}

impl Stack {
    /// Builds and deploys it on its own emulator.
    pub(super) async fn deploy() -> Self {
        let emulator = Emulator::start().await;
        let aws = Bridge::start(&emulator);
        aws.call(
            "sesv2",
            "create_email_identity",
            json!({"EmailIdentity": SENDER}),
        )
        .await;
        eventbridge::create_bus(&aws).await;
        sam::build(&emulator).await;
        let embedder = Embedder::start().await;
        sam::deploy(&emulator, &embedder).await;
        let outputs = sam::outputs(&emulator).await;
        corrections::all(&aws, &outputs).await;
        let secret = json!({"SecretId": output(&outputs, "FirstKeySecret")});
        let secret = aws.call("secretsmanager", "get_secret_value", secret).await;
        let token = secret["SecretString"].as_str().unwrap().to_owned();
        let url = address(&emulator, output(&outputs, "ApiUrl"));
        Self {
            api: Api::new(url, token.clone()),
            token,
            aws,
            emulator,
            embedder,
            outputs,
        }
    }

    pub(super) fn output(&self, name: &str) -> &str {
        output(&self.outputs, name)
    }

    /// Reads the outputs again, after an update of the stack.
    pub(super) async fn refresh(&mut self) {
        self.outputs = sam::outputs(&self.emulator).await;
    }

    /// Invokes a function; returns its result or its error.
    pub(super) async fn try_invoke(&self, function: &str, event: &Value) -> Result<Value, String> {
        let name = format!("postrider-dev-{function}");
        let call = json!({"FunctionName": name, "Payload": event.to_string()});
        let answer = self.aws.call("lambda", "invoke", call).await;
        let payload = answer["Payload"].as_str().unwrap();
        match answer.get("FunctionError") {
            Some(_) => Err(payload.to_owned()),
            None => Ok(serde_json::from_str(payload).unwrap()),
        }
    }

    /// Invokes a function and expects success.
    pub(super) async fn invoke(&self, function: &str, event: &Value) -> Value {
        let answer = self.try_invoke(function, event).await;
        answer.unwrap_or_else(|error| panic!("{function}: {error}"))
    }

    /// Ticks the poller until a delivery is delivered or dead; returns it.
    pub(super) async fn ticked_until_settled(&self, delivery: &str) -> Value {
        tokio::select! {
            row = self.api.settled(delivery) => row,
            never = self.ticking(Duration::from_secs(1)) => match never {},
        }
    }

    /// Ticks the poller this often until it is cancelled: waiting for the schedule's minute would take too long.
    pub(super) async fn ticking(&self, every: Duration) -> Infallible {
        let tick = include_str!("../../infra/events/poller.json");
        let tick: Value = serde_json::from_str(tick).unwrap();
        let mut turns = tokio::time::interval(every);
        loop {
            turns.tick().await;
            self.invoke("poller", &tick).await;
        }
    }

    /// The API's URL for a browser: with its own host name, as on AWS, because its pages link to `/inspector`.
    pub(super) fn browsed(&self) -> String {
        let id = api_id(self.output("ApiUrl"));
        let port = self.emulator.url().rsplit(':').next().unwrap().to_owned();
        format!("http://{id}.execute-api.localhost:{port}")
    }
}

/// One of the outputs.
pub(super) fn output<'a>(outputs: &'a Value, name: &str) -> &'a str {
    let mut outputs = outputs.as_array().unwrap().iter();
    let found = outputs.find(|output| output["OutputKey"] == name);
    found.unwrap_or_else(|| panic!("no output {name}"))["OutputValue"]
        .as_str()
        .unwrap()
}

/// The emulator also serves the API under a path, which needs no name resolution.
fn address(emulator: &Emulator, api_url: &str) -> String {
    format!("{}/_aws/execute-api/{}", emulator.url(), api_id(api_url))
}

fn api_id(api_url: &str) -> &str {
    let host = api_url.split("//").nth(1).unwrap();
    host.split('.').next().unwrap()
}
