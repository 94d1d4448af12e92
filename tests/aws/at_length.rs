//! What takes too long for the gate, each on a stack of its own. `make stack-at-length` runs it.

use postrider_tests::schema::{Checks, Inputs, Names};
use serde_json::json;

use super::stack::Stack;
use super::waiting::size;
use super::{bulk_retries, outages};

/// Generated examples per operation and phase: 20 with `POSTRIDER_TEST_EXAMPLES=20`.
const EXAMPLES: usize = 3;
/// Dead deliveries that are retried at once.
const DEAD: usize = 20_000;

/// Embedded, `openapi.rs` checks the same.
#[tokio::test]
#[ignore = "takes longer than the rest of the gate"]
async fn the_api_does_what_its_openapi_document_says() {
    let stack = Stack::deploy().await;
    // Names are resolved by the system, because the functions have no setting for it.
    let checks = Checks::prepare(&stack.api, Names::Reserved).await;
    run_only_the_api(&stack).await;
    let examples = size("POSTRIDER_TEST_EXAMPLES", EXAMPLES);
    let mut schemathesis = checks.schemathesis(examples.try_into().unwrap(), Inputs::Fixed);
    let status = schemathesis.status().await;
    let status = status.expect("schemathesis starts; `make setup` installs it");
    assert!(status.success());
}

/// The generated webhooks have receivers that do not exist. Their deliveries would keep the emulator, a single thread, too busy
/// to answer the API in time.
async fn run_only_the_api(stack: &Stack) {
    outages::schedule(stack, "DISABLED").await;
    let mappings = stack
        .aws
        .call("lambda", "list_event_source_mappings", json!({}))
        .await;
    for mapping in mappings["EventSourceMappings"].as_array().unwrap() {
        let disabled = json!({"UUID": mapping["UUID"], "Enabled": false});
        let call = stack
            .aws
            .call("lambda", "update_event_source_mapping", disabled);
        call.await;
    }
}

#[tokio::test]
#[ignore = "takes longer than the rest of the gate"]
async fn thousands_of_dead_deliveries_are_retried_once() {
    let stack = Stack::deploy().await;
    let count = size("POSTRIDER_TEST_BULK", DEAD);
    bulk_retries::every_imported_dead_delivery_is_retried_once(&stack, count).await;
}
