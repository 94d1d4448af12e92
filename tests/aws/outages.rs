//! Receivers that are down, and backlogs that survive what goes wrong meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use http::Method;
use postrider_domain::time::{Millis, Timestamp};
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::queue;
use super::stack::Stack;
use super::waiting::{size, until};

/// How many deliveries wait for the receiver that is down: 2000 with `POSTRIDER_TEST_OUTAGE=2000`.
const DELIVERIES: usize = 150;
const OTHERS: usize = 9;
/// Events for each of the other receivers.
const EVENTS: usize = 4;
const RETRY_RATE: usize = 20;
/// Deliveries of a backlog that survives an accident.
const SURVIVORS: usize = 25;
/// Longer than anything that the gateway waits for.
const AGED_BY: Millis = Millis::from_seconds(600);
/// What the gateway compares with the time.
const TIMES: [&str; 5] = [
    "lease_until",
    "lease_taken_at",
    "asked_for",
    "looked_at",
    "touched_at",
];

/// A webhook and its receiver.
struct Endpoint {
    receiver: Receiver,
    webhook: String,
}

impl Endpoint {
    async fn new(stack: &Stack) -> Self {
        let receiver = Receiver::start().await;
        // Enough for an outage on a slow machine: none must die of it.
        let retry = json!({"profile": "custom", "delays_seconds": vec![5; 90]});
        let draft = json!({"name": "outage", "target_url": receiver.url(), "event_types": ["*"],
            "retry_rate": RETRY_RATE, "retry": retry});
        let made = stack.api.call(Method::POST, "/v1/webhooks", Some(draft));
        let webhook = made.await["id"].as_str().unwrap().to_owned();
        Self { receiver, webhook }
    }

    /// Publishes this many events for it; returns the ids of the deliveries.
    async fn publish(&self, stack: &Stack, count: usize) -> Vec<String> {
        let event = json!({"type": "task.completed", "webhook_id": self.webhook, "payload": {}});
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            let batch = vec![event.clone(); 100.min(count - ids.len())];
            let batch = json!({"events": batch});
            let made = stack
                .api
                .call(Method::POST, "/v1/events", Some(batch))
                .await;
            let results = made["results"].as_array().unwrap();
            let id = |one: &Value| one["deliveries"][0]["id"].as_str().unwrap().to_owned();
            ids.extend(results.iter().map(id));
        }
        ids
    }

    /// Takes its receiver down and publishes until the webhook is limited; returns the ids of all deliveries.
    async fn down(&self, stack: &Stack, count: usize) -> Vec<String> {
        self.receiver.answer(Answer::status(503));
        let mut ids = self.publish(stack, count.min(12)).await;
        until("the webhook is limited", async || {
            self.shown(stack).await["limited"] == true
        })
        .await;
        ids.extend(self.publish(stack, count - ids.len()).await);
        ids
    }

    async fn shown(&self, stack: &Stack) -> Value {
        let path = format!("/v1/webhooks/{}", self.webhook);
        stack.api.call(Method::GET, &path, None).await
    }

    /// The deliveries that its receiver has answered with success so far.
    fn delivered(&self, since: usize) -> BTreeSet<String> {
        let requests = self.receiver.requests();
        let ids = requests.iter().skip(since);
        ids.map(|request| request.header("webhook-id").to_owned())
            .collect()
    }

    /// Waits until every delivery has arrived at a receiver that is well again after this many requests.
    async fn all_arrive(&self, count: usize, since: usize) {
        until("every delivery arrives", async || {
            self.delivered(since).len() >= count
        })
        .await;
    }
}

pub(super) async fn a_receiver_that_is_down_delays_no_other_and_gets_everything_later(
    stack: &Stack,
) {
    let down = Endpoint::new(stack).await;
    let others: Vec<_> = join_all((0..OTHERS).map(|_| Endpoint::new(stack))).await;
    let ids = down
        .down(stack, size("POSTRIDER_TEST_OUTAGE", DELIVERIES))
        .await;
    for other in &others {
        other.publish(stack, EVENTS).await;
    }
    for other in &others {
        other.all_arrive(EVENTS, 0).await;
    }
    assert_eq!(down.shown(stack).await["limited"], true, "still down");
    down.receiver.answer(Answer::status(200));
    let since = down.receiver.requests().len();
    let mut highest = 0.0_f64;
    until("every delivery arrives", async || {
        let shown = down.shown(stack).await;
        highest = highest.max(shown["current_rate"].as_f64().unwrap());
        down.delivered(since).len() >= ids.len()
    })
    .await;
    let attempts = attempts(stack, &ids).await;
    let at = |attempt: &Value| Timestamp::parse_rfc3339(attempt["at"].as_str().unwrap()).unwrap();
    let retries = attempts.iter().filter(|attempt| attempt["number"] != 1);
    let most = most_in_a_second(retries.map(at).collect());
    assert!(
        most <= RETRY_RATE + RETRY_RATE / 10,
        "{most} retries in a second"
    );
    let answered = attempts
        .iter()
        .filter(|attempt| attempt["status_code"] == 200);
    let most = most_in_a_second(answered.map(at).collect());
    let rate = f64::from(u32::try_from(most.saturating_sub(1)).unwrap()) / 1.1;
    assert!(rate <= highest, "{most} in a second at {highest}/s at most");
}

/// Every attempt of these deliveries.
async fn attempts(stack: &Stack, ids: &[String]) -> Vec<Value> {
    let mut attempts = Vec::new();
    for id in ids {
        let row = stack.api.settled(id).await;
        assert_eq!(row["status"], "delivered", "{row}");
        attempts.extend(row["attempts"].as_array().unwrap().iter().cloned());
    }
    attempts
}

fn most_in_a_second(mut times: Vec<Timestamp>) -> usize {
    times.sort_unstable();
    let second = Millis::from_seconds(1);
    let within =
        |(n, from): (usize, &Timestamp)| times[n..].partition_point(|at| *at < from.plus(second));
    times.iter().enumerate().map(within).max().unwrap_or(0)
}

/// Its attempts are under way when it dies: their results are lost, and their rows are held.
pub(super) async fn a_backlog_is_delivered_although_its_drainer_is_killed(stack: &Stack) {
    let endpoint = Endpoint::new(stack).await;
    let ids = endpoint.down(stack, SURVIVORS).await;
    endpoint.receiver.hold();
    endpoint.receiver.answer(Answer::status(200));
    let since = endpoint.receiver.requests().len();
    until("an attempt is under way", async || {
        endpoint.receiver.requests().len() > since
    })
    .await;
    let killed = stack.emulator.kill("drainer").await;
    assert!(killed > 0, "a drainer ran");
    endpoint.receiver.open();
    age(stack, &endpoint.webhook).await;
    let since = endpoint.receiver.requests().len();
    tokio::select! {
        () = everything_arrives(stack, &endpoint, &ids) => {}
        never = stack.ticking(Duration::from_secs(1)) => match never {},
    }
    assert!(endpoint.receiver.requests().len() > since);
}

/// Both queues lose everything, and for ten minutes no poller runs.
pub(super) async fn a_backlog_is_delivered_although_its_messages_are_lost_and_the_poller_stood_still(
    stack: &Stack,
) {
    schedule(stack, "DISABLED").await;
    let endpoint = Endpoint::new(stack).await;
    let ids = endpoint.down(stack, SURVIVORS).await;
    until("no message is left", async || {
        for name in ["HintQueueUrl", "DrainQueueUrl"] {
            let purge = json!({"QueueUrl": stack.output(name)});
            stack.aws.call("sqs", "purge_queue", purge).await;
        }
        is_quiet(stack, &endpoint.webhook).await
    })
    .await;
    endpoint.receiver.answer(Answer::status(200));
    age(stack, &endpoint.webhook).await;
    let since = endpoint.receiver.requests().len();
    schedule(stack, "ENABLED").await;
    tokio::select! {
        () = everything_arrives(stack, &endpoint, &ids) => {}
        never = stack.ticking(Duration::from_secs(1)) => match never {},
    }
    assert!(endpoint.receiver.requests().len() > since);
}

async fn everything_arrives(stack: &Stack, endpoint: &Endpoint, ids: &[String]) {
    until("every delivery arrives", async || {
        let path = format!(
            "/v1/deliveries?webhook_id={}&status=delivered&limit=200",
            endpoint.webhook
        );
        let page = stack.api.call(Method::GET, &path, None).await;
        page["items"].as_array().unwrap().len() == ids.len()
    })
    .await;
}

/// Whether nothing is under way for a webhook and no message is left that would change that.
async fn is_quiet(stack: &Stack, webhook: &str) -> bool {
    for name in ["HintQueueUrl", "DrainQueueUrl"] {
        for attribute in [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ] {
            if queue::attribute(stack, stack.output(name), attribute).await != "0" {
                return false;
            }
        }
    }
    flow(stack, webhook).await.get("lease_owner").is_none()
}

async fn flow(stack: &Stack, webhook: &str) -> Value {
    let get = json!({"TableName": stack.output("DeliveriesTable"), "Key": flow_key(webhook)});
    let mut found = stack.aws.call("dynamodb", "get_item", get).await;
    found["Item"].take()
}

fn flow_key(webhook: &str) -> Value {
    json!({"pk": {"S": format!("default#{webhook}")}, "sk": {"S": "flow"}})
}

/// Lets ten minutes pass for a webhook: everything that was stored with a time is that much older.
async fn age(stack: &Stack, webhook: &str) {
    let table = stack.output("DeliveriesTable");
    for item in items_of(stack, table, webhook).await {
        for name in TIMES {
            let at = item.get(name).and_then(|time| time["N"].as_str());
            let at = at.map_or(0, |at| at.parse::<i64>().unwrap());
            if at == 0 {
                continue;
            }
            let aged = at - i64::try_from(AGED_BY.get()).unwrap();
            let change = json!({"TableName": table, "Key": {"pk": item["pk"], "sk": item["sk"]},
                "UpdateExpression": "SET #time = :aged", "ConditionExpression": "#time = :at",
                "ExpressionAttributeNames": {"#time": name},
                "ExpressionAttributeValues": {":aged": {"N": aged.to_string()}, ":at": {"N": at.to_string()}}});
            // One that was changed meanwhile is not old.
            let _changed = stack.aws.try_call("dynamodb", "update_item", change).await;
        }
    }
}

/// All items that name a webhook in their key.
async fn items_of(stack: &Stack, table: &str, webhook: &str) -> Vec<Value> {
    let mut scan = json!({"TableName": table, "FilterExpression": "contains(pk, :id) OR contains(sk, :id)",
        "ExpressionAttributeValues": {":id": {"S": webhook}}});
    let mut items = Vec::new();
    loop {
        let mut page = stack.aws.call("dynamodb", "scan", scan.clone()).await;
        items.extend(page["Items"].as_array().unwrap().iter().cloned());
        match page.get_mut("LastEvaluatedKey") {
            Some(last) => scan["ExclusiveStartKey"] = last.take(),
            None => return items,
        }
    }
}

/// Enables or disables the schedule of the poller.
pub(super) async fn schedule(stack: &Stack, state: &str) {
    let name = json!({"Name": "postrider-dev-minute"});
    let found = stack.aws.call("scheduler", "get_schedule", name).await;
    let changed = json!({"Name": found["Name"], "ScheduleExpression": found["ScheduleExpression"],
        "FlexibleTimeWindow": found["FlexibleTimeWindow"], "Target": found["Target"], "State": state});
    stack
        .aws
        .call("scheduler", "update_schedule", changed)
        .await;
}
