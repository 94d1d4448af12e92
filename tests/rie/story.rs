//! What a developer sees: events enter through one function and leave through another.

use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use super::stage::{Stage, publish, settled, webhook};
use crate::conformance::collector::Collector;

#[tokio::test]
async fn rie_the_dispatcher_delivers_and_retries_what_the_api_accepts() {
    let receiver = Receiver::start().await;
    let stage = Stage::start().await;
    let (api, _dispatcher) = (stage.api(), stage.dispatcher());
    let webhook = webhook(&api, &receiver.url()).await;
    receiver.answer_next([Answer::status(500)]);
    let delivery = publish(&api, &webhook).await;
    let row = settled(&api, &delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    assert_eq!(row["attempts"].as_array().unwrap().len(), 2, "{row}");
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1].body, r#"{"task":42}"#);
    assert_eq!(requests[1].header("x-webhook-retry"), "1");
    let elsewhere = Receiver::start().await;
    let shadow = format!("/v1/deliveries/{delivery}/shadow");
    let wish = json!({"url": elsewhere.url()});
    let shown = api.call("POST", &shadow, &wish).await;
    assert_eq!(shown["shadow"]["status_code"], 200, "{shown}");
    assert_eq!(elsewhere.requests()[0].header("postrider-shadow"), "true");
    let said = stage.dev.output_about("postrider-dispatcher");
    assert!(
        said.iter().any(|line| line.contains("1 message")),
        "{said:?}"
    );
    assert!(stage.dev.terminate().await, "it exits with success");
}

#[tokio::test]
async fn rie_a_tick_of_the_poller_replaces_a_lost_message() {
    let receiver = Receiver::start().await;
    let stage = Stage::start().await;
    let delivery = {
        let api = stage.api();
        publish(&api, &webhook(&api, &receiver.url()).await).await
    };
    let stage = stage.after_a_kill().await;
    let (api, _dispatcher, _poller) = (stage.api(), stage.dispatcher(), stage.poller());
    let row = settled(&api, &delivery).await;
    assert_eq!(row["status"], "delivered", "{row}");
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn rie_the_receiver_accepts_only_signed_requests() {
    let target = Receiver::start().await;
    let stage = Stage::start().await;
    let (api, receiver, _dispatcher) = (stage.api(), stage.receiver(), stage.dispatcher());
    let secret = SigningSecret::from_key(&[7; 32]);
    let route = json!({
        "event_type": "task.*",
        "intent": "review",
        "webhook_id": webhook(&api, &target.url()).await,
    });
    let draft = json!({
        "name": "sender",
        "scheme": "postrider",
        "secret": secret.expose(),
        "routes": [route],
    });
    let source = api.call("POST", "/v1/sources", &draft).await;
    let path = source["url"].as_str().unwrap();
    let body = r#"{"task": 42}"#;
    let signature = signature::plain(&secret, body.as_bytes());
    let headers = [
        ("x-webhook-event", "task.completed"),
        ("x-observatory-signature", signature.as_str()),
    ];
    let forged = receiver.request("POST", path, &headers, r#"{"task": 43}"#);
    assert_eq!(forged.await.0, 401);
    let (status, accepted) = receiver.request("POST", path, &headers, body).await;
    assert_eq!(status, 202, "{accepted}");
    let arrived = target.received(1).await.remove(0);
    assert_eq!(arrived.body, body);
    assert_eq!(arrived.header("x-webhook-intent"), "review");
    let listed = api.call("GET", "/v1/deliveries", &json!(null)).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}

#[tokio::test]
async fn rie_functions_send_their_traces_before_they_respond() {
    let (receiver, mut collector) = (Receiver::start().await, Collector::start().await);
    let stage = Stage::start_traced(&collector.url).await;
    let (api, dispatcher) = (stage.api(), stage.dispatcher());
    let delivery = publish(&api, &webhook(&api, &receiver.url()).await).await;
    let accepted = collector.span().await;
    let attempted = collector.span().await;
    assert_eq!(
        (&accepted["name"], &attempted["name"]),
        (&json!("accept"), &json!("attempt"))
    );
    assert_eq!(accepted["trace"], attempted["trace"]);
    assert_eq!(attempted["parent"], accepted["id"]);
    assert_eq!(attempted["attributes"]["postrider.delivery_id"], delivery);
    // Whether frozen or stopped, they have nothing left to send.
    drop((api, dispatcher));
    assert_eq!(collector.end().await, Vec::<serde_json::Value>::new());
}
