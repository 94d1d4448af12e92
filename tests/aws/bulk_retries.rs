//! A bulk retry of dead deliveries, which the poller carries on slice by slice.

use std::collections::HashSet;
use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use super::stack::Stack;
use super::waiting::until;

/// How often the poller runs.
const TICK: Duration = Duration::from_secs(1);

pub(super) async fn every_dead_delivery_is_retried_once(stack: &Stack, count: usize) {
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(400));
    let retry = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 1});
    let draft = json!({"name": "bulk", "target_url": receiver.url(), "event_types": ["*"],
        "retry_rate": 300, "retry": retry});
    let made = stack.api.call(Method::POST, "/v1/webhooks", Some(draft));
    let webhook = made.await["id"].as_str().unwrap().to_owned();
    let working = async {
        publish(stack, &webhook, count).await;
        until("every delivery is dead", async || {
            receiver.requests().len() >= count && !any(stack, &webhook, "pending").await
        })
        .await;
        receiver.answer(Answer::status(200));
        let since = receiver.requests().len();
        let all = json!({"filter": {"webhook_id": webhook}});
        let job = stack.api.call(Method::POST, "/v1/retries", Some(all));
        let path = format!("/v1/retries/{}", job.await["id"].as_str().unwrap());
        until("the bulk retry is done", async || {
            stack.api.call(Method::GET, &path, None).await["state"] == "done"
        })
        .await;
        let job = stack.api.call(Method::GET, &path, None).await;
        assert_eq!([&job["matched"], &job["done"]], [count, count], "{job}");
        until("every delivery arrives", async || {
            arrived(&receiver, since).len() == count
        })
        .await;
    };
    tokio::select! {
        () = working => {}
        never = stack.ticking(TICK) => match never {},
    }
    assert!(!any(stack, &webhook, "dead").await);
}

async fn publish(stack: &Stack, webhook: &str, count: usize) {
    let event = json!({"type": "task.completed", "webhook_id": webhook, "payload": {}});
    let mut left = count;
    while left > 0 {
        let size = left.min(100);
        let batch = json!({"events": vec![event.clone(); size]});
        stack
            .api
            .call(Method::POST, "/v1/events", Some(batch))
            .await;
        left -= size;
    }
}

async fn any(stack: &Stack, webhook: &str, status: &str) -> bool {
    let path = format!("/v1/deliveries?webhook_id={webhook}&status={status}&limit=1");
    let page = stack.api.call(Method::GET, &path, None).await;
    !page["items"].as_array().unwrap().is_empty()
}

/// The deliveries that the receiver got after this many requests.
fn arrived(receiver: &Receiver, since: usize) -> HashSet<String> {
    let requests = receiver.requests();
    let ids = requests.iter().skip(since);
    ids.map(|request| request.header("webhook-id").to_owned())
        .collect()
}
