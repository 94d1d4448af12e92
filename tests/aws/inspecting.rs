//! The Inspector in a real browser, against the deployed stack: the same cases as for the embedded gateway.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use http::Method;
use serde_json::json;

use super::stack::Stack;
use crate::inspector;

/// How many cases run in parallel: they mostly wait for the stream and for the poller.
const AT_ONCE: usize = 3;
/// All cases except the one that stops its gateway. Each gets its own, empty tenant.
const CASES: [&str; 15] = [
    "login",
    "lists",
    "delivery",
    "shadow",
    "dead_letters",
    "managing",
    "sources",
    "filters",
    "templates",
    "errors",
    "read_only",
    "live",
    "hostile",
    "accessibility",
    "keyboard",
];

pub(super) async fn the_inspector_works_as_it_does_embedded(stack: &Stack) {
    let playing = stream::iter(CASES).for_each_concurrent(AT_ONCE, async |case| {
        let token = key_of_a_new_tenant(stack, case).await;
        let mut node = inspector::script(case, &stack.browsed(), &token);
        node.env("CALLS", &stack.api.url);
        inspector::run(case, node).await;
    });
    tokio::select! {
        () = playing => {}
        never = stack.ticking(Duration::from_secs(5)) => match never {},
    }
}

async fn key_of_a_new_tenant(stack: &Stack, name: &str) -> String {
    let key = json!({"name": name, "tenant": format!("inspector-{name}"), "scopes": ["publish", "read", "manage"]});
    let key = stack.api.call(Method::POST, "/v1/keys", Some(key));
    key.await["token"].as_str().unwrap().to_owned()
}
