//! Schemathesis against a real gateway: the API does what its OpenAPI document says.
//!
//! Nothing is sent to any receiver. Egress has its defaults, so private addresses are blocked; `hooks.py` replaces public
//! addresses in requests; names do not resolve, because the name server knows none. A gateway that uses the name servers
//! of the system gets requests with a single name, one that exists nowhere.

mod names;

use std::path::{Path, PathBuf};

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use crate::api::Api;
use crate::command::Serve;
use names::NameServer;

/// Where the inputs of a run come from.
#[derive(Clone, Copy, Debug)]
pub enum Inputs {
    /// The same in every run.
    Fixed,
    /// From this seed.
    Seeded(u64),
    /// From a new seed, which the report names.
    Random,
}

/// Which names the URLs in requests may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Any: the gateway resolves none.
    Any,
    /// One that exists nowhere.
    Reserved,
}

/// An embedded gateway with data of every kind.
pub struct Stage {
    checks: Checks,
    _gateway: Serve,
    _names: NameServer,
}

impl Stage {
    /// Starts the gateway and fills it.
    ///
    /// # Panics
    /// When the gateway does not start, or rejects the data.
    pub async fn start() -> Self {
        let names = NameServer::start().await;
        let name_server = names.address.to_string();
        let gateway = Serve::start(&[("POSTRIDER_DNS_SERVERS", &name_server)]).await;
        Self {
            checks: Checks::prepare(&gateway, Names::Any).await,
            _gateway: gateway,
            _names: names,
        }
    }

    /// The run, with up to this many generated examples per operation and phase.
    #[must_use]
    pub fn schemathesis(&self, examples: u32, inputs: Inputs) -> Command {
        self.checks.schemathesis(examples, inputs)
    }
}

/// What schemathesis needs to check a gateway.
pub struct Checks {
    url: String,
    token: String,
    names: Names,
    /// Ids for `hooks.py`.
    stored: Value,
    /// Schemathesis writes into its working directory.
    folder: TempDir,
}

impl Checks {
    /// Fills the gateway.
    ///
    /// # Panics
    /// When it rejects the data.
    pub async fn prepare(gateway: &Api, names: Names) -> Self {
        Self {
            url: gateway.url.clone(),
            token: gateway.token.clone(),
            names,
            stored: fill(gateway).await,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The run, with up to this many generated examples per operation and phase.
    #[must_use]
    pub fn schemathesis(&self, examples: u32, inputs: Inputs) -> Command {
        let mut command = Command::new(repository().join(".tools/schema/bin/schemathesis"));
        command
            .arg("--config-file")
            .arg(folder().join("schemathesis.toml"))
            .args(["run", "--no-color", "--url", &self.url])
            .args(["--max-examples", &examples.to_string()])
            .arg(format!("{}/openapi.json", self.url))
            .current_dir(self.folder.path())
            .env_clear()
            .env("PYTHONUTF8", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SCHEMA_HOOKS", folder().join("hooks.py"))
            .env("SCHEMA_TOKEN", &self.token)
            .env("SCHEMA_NAMES", format!("{:?}", self.names))
            .env("SCHEMA_STORED", self.stored.to_string())
            .kill_on_drop(true);
        match inputs {
            Inputs::Fixed => command.arg("--generation-deterministic"),
            Inputs::Seeded(seed) => command.args(["--seed", &seed.to_string()]),
            Inputs::Random => &mut command,
        };
        command
    }
}

/// Stores one of each thing that a request can name: invented ids alone would only be answered with 404.
async fn fill(gateway: &Api) -> Value {
    let once = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 1});
    let webhook = gateway.webhook("https://receiver.example/", &once).await;
    let delivery = gateway.publish(&webhook, "{}").await;
    let event = gateway.settled(&delivery).await["event_id"].take();
    let erased = gateway.publish(&webhook, "{}").await;
    let erased = gateway.settled(&erased).await["event_id"].take();
    let github = source(gateway, json!({"scheme": "github"})).await;
    let custom = json!({"scheme": "custom", "custom": {"header": "x-signature"}});
    let custom = source(gateway, custom).await;
    let unsigned = format!("/gateway/webhooks/{github}");
    let (status, _) = gateway
        .try_call(Method::POST, &unsigned, Some("{}".to_owned()))
        .await
        .unwrap();
    assert_eq!(status, 401);
    let rejected = format!("/v1/sources/{github}/refused");
    let rejected = gateway.call(Method::GET, &rejected, None).await;
    let keys = gateway.call(Method::GET, "/v1/keys", None).await;
    json!({
        "key": keys["items"][0]["id"],
        "webhook": webhook,
        "parameters": {
            "POST /v1/deliveries/{id}/retry": {"id": delivery},
            "POST /v1/events/{id}/deliveries": {"id": event},
            "DELETE /v1/events/{id}": {"id": erased},
            "PATCH /v1/sources/{id}": {"id": custom},
            "GET /v1/sources/{id}/refused/{refused_id}":
                {"id": github, "refused_id": rejected["items"][0]["id"]},
        },
    })
}

/// Creates a source with this scheme; returns its id.
async fn source(gateway: &Api, mut settings: Value) -> String {
    settings["name"] = json!("test");
    settings["secret"] = json!("a secret of the sender");
    let source = gateway
        .call(Method::POST, "/v1/sources", Some(settings))
        .await;
    source["id"].as_str().unwrap().to_owned()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schema")
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}
