//! Payloads that do not match their schema, in CloudWatch.

use http::Method;
use postrider_tests::api::Api;
use serde_json::json;

use super::key_stats;
use super::stack::Stack;
use super::waiting::until;

pub(super) async fn a_payload_that_does_not_match_its_schema_is_accepted_and_counted(
    stack: &Stack,
) {
    let scopes = ["publish", "read", "manage"];
    let key = json!({"name": "validating", "tenant": "validating", "scopes": scopes});
    let key = stack.api.call(Method::POST, "/v1/keys", Some(key)).await;
    let tenant = Api::new(stack.api.url.clone(), key["token"].as_str().unwrap().into());
    let schema = json!({"schema": {"type": "object", "required": ["id"]}});
    let path = "/v1/event-types/invoice.paid";
    tenant.call(Method::PUT, path, Some(schema)).await;
    until("a mismatch is counted", async || {
        let event = json!({"type": "invoice.paid", "payload": {"total": 7}});
        tenant.call(Method::POST, "/v1/events", Some(event)).await;
        let written = key_stats::written(stack, "api").await;
        written.contains_key("schema_mismatches")
    })
    .await;
}
