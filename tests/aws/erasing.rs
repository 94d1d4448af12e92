//! Erasing an event whose body is an object, and deleting a tenant: with the roles of `api` and `poller`.

use std::time::Duration;

use data_encoding::BASE64;
use http::Method;
use postrider_testkit::bodies::random_bytes;
use postrider_testkit::receiver::Receiver;
use serde_json::json;

use super::stack::Stack;
use super::waiting::until;

/// Too large for an item of the table.
const LARGE: usize = 400 * 1024;
/// How often the poller runs.
const TICK: Duration = Duration::from_secs(1);

pub(super) async fn an_event_is_erased_and_a_tenant_deleted(stack: &Stack) {
    let receiver = Receiver::start().await;
    let api = &stack.api;
    let webhook = json!({"name": "erase", "target_url": receiver.url(), "event_types": ["*"]});
    let webhook = api.call(Method::POST, "/v1/webhooks", Some(webhook)).await;
    let body = BASE64.encode(&random_bytes(9, LARGE));
    let event =
        json!({"type": "task.completed", "webhook_id": webhook["id"], "payload_base64": body});
    let event = api.call(Method::POST, "/v1/events", Some(event)).await;
    until("the event arrives", async || receiver.requests().len() == 1).await;
    let path = format!("/v1/events/{}", event["id"].as_str().unwrap());
    let erasure = api.call(Method::DELETE, &path, None).await;
    let erasure = format!("/v1/erasures/{}", erasure["id"].as_str().unwrap());
    let working = async {
        until("the event is erased", async || {
            api.call(Method::GET, &erasure, None).await["state"] == "done"
        })
        .await;
        let tenant = json!({"id": "erased", "name": "Erased"});
        api.call(Method::POST, "/v1/tenants", Some(tenant)).await;
        let key = json!({"name": "k", "scopes": ["publish"], "tenant": "erased"});
        api.call(Method::POST, "/v1/keys", Some(key)).await;
        let deletion = api.call(Method::DELETE, "/v1/tenants/erased", None).await;
        let path = format!("/v1/erasures/{}", deletion["id"].as_str().unwrap());
        // It ends when indexes cannot lag any more, which takes longer than this test: the first round ends here.
        until("the first round is done", async || {
            let deletion = api.call(Method::GET, &path, None).await;
            deletion["keys"] == 1 && deletion["state"] == "running"
        })
        .await;
    };
    tokio::select! {
        () = working => {}
        never = stack.ticking(TICK) => match never {},
    }
    let path = format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap());
    api.call(Method::DELETE, &path, None).await;
}
