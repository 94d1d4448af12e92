//! The Inspector in a real browser, against the deployed stack: the same cases as for the embedded gateway.

use std::process::Stdio;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use http::Method;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::stack::Stack;
use crate::inspector;

/// How many cases run in parallel: they mostly wait for the stream and for the poller.
const AT_ONCE: usize = 3;
/// All cases except the one that stops its gateway. The longest come first. Each gets its own, empty tenant.
const CASES: [(&str, Whose); 20] = [
    ("portal", Whose::Customer),
    ("event_types", Whose::Customer),
    ("portal_embedded", Whose::Customer),
    ("accessibility", Whose::Operator),
    ("login", Whose::Operator),
    ("lists", Whose::Operator),
    ("delivery", Whose::Operator),
    ("shadow", Whose::Operator),
    ("dead_letters", Whose::Operator),
    ("managing", Whose::Operator),
    ("sources", Whose::Operator),
    ("filters", Whose::Operator),
    ("filter_form", Whose::Operator),
    ("templates", Whose::Operator),
    ("erasing", Whose::Operator),
    ("errors", Whose::Operator),
    ("read_only", Whose::Operator),
    ("live", Whose::Operator),
    ("hostile", Whose::Operator),
    ("keyboard", Whose::Operator),
];

/// Who the tenant of a case belongs to.
#[derive(Clone, Copy)]
enum Whose {
    /// The case has a key of the tenant.
    Operator,
    /// The case has a key of the operator, and creates links to the portal of the tenant.
    Customer,
}

pub(super) async fn the_inspector_works_as_it_does_embedded(stack: &Stack) {
    let playing = stream::iter(CASES).for_each_concurrent(AT_ONCE, async |(case, whose)| {
        let tenant = format!("inspector-{}", case.replace('_', "-"));
        let token = match whose {
            Whose::Operator => key_of_a_new_tenant(stack, &tenant).await,
            Whose::Customer => stack.token.clone(),
        };
        let mut node = inspector::script(case, &stack.browsed(), &token);
        node.env("CALLS", &stack.api.url)
            .env("CUSTOMER", tenant)
            .env("EMBEDDER", &stack.embedder.origin);
        inspector::run(case, node).await;
    });
    tokio::select! {
        () = playing => {}
        never = stack.ticking(Duration::from_secs(5)) => match never {},
    }
}

async fn key_of_a_new_tenant(stack: &Stack, tenant: &str) -> String {
    let key = json!({"name": tenant, "tenant": tenant, "scopes": ["publish", "read", "manage"]});
    let key = stack.api.call(Method::POST, "/v1/keys", Some(key));
    key.await["token"].as_str().unwrap().to_owned()
}

/// A site that embeds the portal. The stack is deployed with its origin, so it starts before.
pub(super) struct Embedder {
    pub(super) origin: String,
    _process: Child,
}

impl Embedder {
    pub(super) async fn start() -> Self {
        let mut process = Command::new("node")
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/inspector/embedder.mjs"
            ))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let origin = lines.next_line().await.unwrap().expect("it has started");
        Self {
            origin,
            _process: process,
        }
    }
}
