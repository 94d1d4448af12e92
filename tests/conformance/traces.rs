//! Traces of the real gateway, read with the OpenTelemetry project's own messages.

use std::net::TcpListener;
use std::path::Path;

use data_encoding::HEXLOWER;
use http::Method;
use postrider_domain::ids::DeliveryId;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::collector::Collector;
use crate::command::{PATIENCE, Serve, TOKEN, refused_start};

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The publisher's own span.
const CAUSE: &str = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";
const CANARY: &str = "canary-of-traces";

fn trace_of(delivery: &str) -> String {
    let id: DeliveryId = delivery.parse().unwrap();
    HEXLOWER.encode(id.event.as_bytes())
}

fn named<'a>(spans: &'a [Value], name: &str) -> Vec<&'a Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// Publishes as part of the publisher's own trace; returns the delivery's id.
async fn publish_traced(gateway: &Serve, webhook: &str, key: &str) -> String {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
    let event = json!({"type": "task.completed", "webhook_id": webhook, "payload": CANARY});
    let request = client
        .build()
        .unwrap()
        .post(format!("{}/v1/events", gateway.url))
        .bearer_auth(TOKEN)
        .header("traceparent", format!("00-{CAUSE}-01"))
        .header("idempotency-key", key)
        .header("content-type", "application/json")
        .body(event.to_string());
    let answer = request.send().await.unwrap().text().await.unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer["deliveries"][0]["id"].as_str().unwrap().to_owned()
}

async fn traced(data: &Path, collector: &Collector) -> Serve {
    let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of-the-collector");
    Serve::start_in(data, &[OPEN, (ENDPOINT, &collector.url), headers]).await
}

/// A delivery that fails in one process and succeeds in the next; returns its id.
async fn fail_then_arrive(collector: &Collector, receiver: &Receiver) -> String {
    let data = tempfile::tempdir().unwrap();
    let mut gateway = traced(data.path(), collector).await;
    let draft = json!({
        "name": "traced", "event_types": ["*"],
        "target_url": format!("{}?key={CANARY}", receiver.url()),
        "headers": {"Authorization": CANARY},
        "retry": {"profile": "custom", "delays_seconds": [1]},
    });
    let webhook = gateway
        .call(Method::POST, "/v1/webhooks", Some(draft))
        .await;
    let webhook = webhook["id"].as_str().unwrap();
    receiver.answer_next([Answer::status(500).body(CANARY)]);
    let delivery = publish_traced(&gateway, webhook, "once").await;
    receiver.received(1).await;
    assert!(gateway.terminate().await);
    let mut again = traced(data.path(), collector).await;
    assert_eq!(again.settled(&delivery).await["status"], "delivered");
    assert_eq!(publish_traced(&again, webhook, "once").await, delivery);
    assert!(again.terminate().await);
    delivery
}

#[tokio::test]
async fn a_collector_gets_one_trace_from_accept_to_notification_across_two_processes() {
    let (collector, receiver) = (Collector::start().await, Receiver::start().await);
    let delivery = fail_then_arrive(&collector, &receiver).await;
    let spans = collector.end().await;
    for span in &spans {
        assert_eq!(span["trace"], trace_of(&delivery), "{span}");
        assert_eq!(
            (&span["service"], &span["scope"]),
            (&json!("postrider"), &json!("postrider"))
        );
        assert_eq!(span["headers"]["x-key"], "of-the-collector");
        assert!(!span.to_string().contains(CANARY), "{span}");
    }
    let accepted = named(&spans, "accept");
    let root = &accepted[0]["id"];
    assert_eq!(accepted.len(), 2, "published, and published again");
    assert_eq!(
        (&accepted[0]["parent"], &accepted[1]["parent"]),
        (&json!(""), root)
    );
    assert_eq!(accepted[1]["attributes"]["postrider.repeated"], true);
    assert!(accepted.iter().all(|span| span["links"] == json!([CAUSE])));

    let attempts = named(&spans, "attempt");
    let told = |span: &Value| {
        let facts = &span["attributes"];
        (
            facts["http.response.status_code"].as_i64(),
            facts["postrider.outcome"].as_str().map(str::to_owned),
        )
    };
    let expected = [(500, "failed"), (200, "delivered")];
    let expected = expected.map(|(status, outcome)| (Some(status), Some(outcome.to_owned())));
    assert_eq!(
        attempts.iter().map(|span| told(span)).collect::<Vec<_>>(),
        expected
    );
    assert_eq!(attempts[0]["failure"], "HTTP status 500");
    assert_eq!(attempts[1]["failure"], Value::Null);
    let continued: Vec<_> = receiver
        .requests()
        .iter()
        .map(|request| request.header("traceparent").to_owned())
        .collect();
    let ids = attempts.iter().map(|span| span["id"].as_str().unwrap());
    let own: Vec<_> = ids
        .map(|id| format!("00-{}-{id}-01", trace_of(&delivery)))
        .collect();
    assert_eq!(continued, own, "the receiver can continue the trace");

    let announced = named(&spans, "notify");
    let kinds: Vec<_> = announced
        .iter()
        .map(|span| &span["attributes"]["postrider.announcement"])
        .collect();
    assert_eq!(kinds, ["delivery.failed", "delivery.delivered"]);
    assert!(
        attempts
            .iter()
            .chain(&announced)
            .all(|span| span["parent"] == *root)
    );
    assert_eq!(spans.len(), 6, "no other span: {spans:?}");
}

#[tokio::test]
async fn nothing_is_recorded_unless_tracing_is_configured() {
    let (collector, receiver) = (Collector::start().await, Receiver::start().await);
    let none = [
        OPEN,
        (ENDPOINT, collector.url.as_str()),
        ("OTEL_TRACES_SAMPLER", "always_off"),
    ];
    for settings in [&none[..1], &none[..]] {
        let mut gateway = Serve::start(settings).await;
        let webhook = gateway.webhook(&receiver.url(), &json!({})).await;
        let delivery = publish_traced(&gateway, &webhook, "once").await;
        assert_eq!(gateway.settled(&delivery).await["status"], "delivered");
        assert!(gateway.terminate().await);
    }
    assert_eq!(collector.end().await, Vec::<Value>::new());
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests
            .iter()
            .all(|request| !request.headers.contains_key("traceparent"))
    );
}

/// Publishes a thousand events with three thousand spans, more than fit in the queue; returns when all have arrived.
async fn a_thousand_arrive(gateway: &Serve, receiver: &Receiver) {
    gateway.webhook(&receiver.url(), &json!({})).await;
    let hundred = vec![json!({"type": "task.completed", "payload": 1}); 100];
    for _ in 0..10 {
        let answer = gateway
            .call(Method::POST, "/v1/events", Some(json!({"events": hundred})))
            .await;
        assert_eq!(answer["results"].as_array().unwrap().len(), 100);
    }
    receiver.received(1000).await;
}

#[tokio::test]
async fn a_collector_that_never_responds_loses_spans_but_no_delivery() {
    let receiver = Receiver::start().await;
    // It accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut gateway = Serve::start(&[OPEN, (ENDPOINT, &url)]).await;
    a_thousand_arrive(&gateway, &receiver).await;
    assert!(gateway.terminate().await);
}

#[tokio::test]
async fn an_unreachable_collector_is_reported_once() {
    let receiver = Receiver::start().await;
    let gone = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let url = format!("http://{gone}");
    let (data, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = logs.path().join("log");
    let mut gateway = Serve::start_logged(data.path(), &[OPEN, (ENDPOINT, &url)], &log).await;
    a_thousand_arrive(&gateway, &receiver).await;
    assert!(gateway.terminate().await);
    let logged = std::fs::read_to_string(&log).unwrap();
    assert_eq!(logged.matches("traces.not_sent").count(), 1, "{logged}");
    assert_eq!(logged.lines().count(), 1, "{logged}");
}

#[tokio::test]
async fn an_invalid_endpoint_prevents_the_start() {
    let said = refused_start(&[
        (ENDPOINT, "collector:4317"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ])
    .await;
    assert!(
        said.contains("OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https URL"),
        "{said}"
    );
    assert!(
        said.contains("OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf"),
        "{said}"
    );
}
