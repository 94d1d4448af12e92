//! The stream of notifications.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use http::{Method, Request, header};
use postrider_api::Streaming;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use serde_json::{Value, json};
use tokio::time::timeout;
use tower::ServiceExt;

use crate::portal::enter;
use crate::stage::{Answer, Stage};

/// Far longer than any step takes, so it ends only a test that hangs.
const PATIENCE: Duration = Duration::from_secs(10);

struct Listener {
    body: BodyDataStream,
    read: String,
}

impl Listener {
    async fn open(stage: &Stage, token: &str, last_event_id: Option<&str>) -> Self {
        let mut request =
            Request::get("/v1/stream").header("authorization", format!("Bearer {token}"));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = stage.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "text/event-stream"
        );
        assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
        let body = response.into_body().into_data_stream();
        Self {
            body,
            read: String::new(),
        }
    }

    /// The next event: id, type, data.
    async fn next(&mut self) -> Option<(String, String, Value)> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|text| text.trim_start().to_owned())
                };
                let found = field("data:").map(|data| {
                    let data = serde_json::from_str(&data).unwrap();
                    (field("id:").unwrap(), field("event:").unwrap(), data)
                });
                self.read = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let chunk = timeout(PATIENCE, self.body.next())
                .await
                .expect("no event in time")?;
            self.read
                .push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
        }
    }
}

#[tokio::test]
async fn a_stream_starts_now_and_continues_after_a_reconnect() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let before = stage.delivery().await;
    stage.kill(&before).await;
    let mut listener = Listener::open(&stage, &stage.admin, None).await;
    let after = stage.delivery().await;
    stage.kill(&after).await;
    let (id, kind, event) = listener.next().await.unwrap();
    assert_eq!(kind, "delivery.dead");
    assert_eq!(
        (&event["specversion"], &event["type"]),
        (&json!("1.0"), &json!("delivery.dead"))
    );
    assert_eq!(
        event["data"]["webhook_delivery_id"], after,
        "no earlier notification"
    );
    stage
        .post(&format!("/v1/deliveries/{after}/retry"), "")
        .await
        .expect(202);
    assert_eq!(listener.next().await.unwrap().1, "delivery.requeued");
    drop(listener);
    let mut resumed = Listener::open(&stage, &stage.admin, Some(&id)).await;
    assert_eq!(resumed.next().await.unwrap().1, "delivery.requeued");
    let mut from_the_first = Listener::open(&stage, &stage.admin, Some("0")).await;
    assert_eq!(
        from_the_first.next().await.unwrap().2["data"]["webhook_delivery_id"],
        before
    );
    let mut from_the_future = Listener::open(&stage, &stage.admin, Some("99999999")).await;
    stage.kill(&after).await;
    assert_eq!(from_the_future.next().await.unwrap().1, "delivery.dead");
}

#[tokio::test]
async fn a_stream_has_only_its_own_tenants_notifications() {
    let stage = Stage::new().await;
    let other = stage.token("other", &[Scope::Read]).await;
    let mut stranger = Listener::open(&stage, &other, Some("0")).await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    stage.shutdown.send_replace(true);
    assert_eq!(stranger.next().await, None);
}

#[tokio::test]
async fn a_stream_first_sends_its_position() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let before = stage.delivery().await;
    stage.kill(&before).await;
    let mut listener = Listener::open(&stage, &stage.admin, None).await;
    let hello = timeout(PATIENCE, listener.body.next()).await.unwrap();
    let hello = hello.unwrap().unwrap();
    let hello = std::str::from_utf8(&hello).unwrap();
    let place = hello.strip_prefix("id: ").unwrap().trim().to_owned();
    drop(listener);
    let missed = stage.delivery().await;
    stage.kill(&missed).await;
    let mut resumed = Listener::open(&stage, &stage.admin, Some(&place)).await;
    let (_, _, event) = resumed.next().await.unwrap();
    assert_eq!(event["data"]["webhook_delivery_id"], missed);
}

#[tokio::test]
async fn a_stream_ends_with_the_gateway() {
    let stage = Stage::new().await;
    let mut listener = Listener::open(&stage, &stage.admin, None).await;
    stage.shutdown.send_replace(true);
    assert_eq!(listener.next().await, None);
}

#[tokio::test]
async fn a_stream_ends_soon_after_its_key_is_revoked() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let given = json!({"name": "reader", "scopes": ["read"]});
    let key = stage.post("/v1/keys", given).await.expect(201);
    let mut listener = Listener::open(&stage, key["token"].as_str().unwrap(), None).await;
    stage.clock.advance(Millis::from_seconds(31));
    let id = stage.delivery().await;
    stage.kill(&id).await;
    assert!(
        listener.next().await.is_some(),
        "a valid key keeps receiving"
    );
    stage.clock.advance(Millis::from_seconds(62));
    stage
        .delete(&format!("/v1/keys/{}", key["id"].as_str().unwrap()))
        .await;
    assert_eq!(listener.next().await, None);
}

#[tokio::test]
async fn a_stream_opened_while_the_clock_ran_ahead_ends_when_its_key_is_revoked() {
    let stage = Stage::new().await;
    let given = json!({"name": "reader", "scopes": ["read"]});
    let key = stage.post("/v1/keys", given).await.expect(201);
    let now = stage.clock.now();
    stage.clock.advance(Millis::from_seconds(86_400));
    let mut listener = Listener::open(&stage, key["token"].as_str().unwrap(), None).await;
    stage.clock.set(now);
    stage
        .delete(&format!("/v1/keys/{}", key["id"].as_str().unwrap()))
        .await;
    assert_eq!(listener.next().await, None);
}

#[tokio::test]
async fn a_position_to_continue_from_must_be_a_number() {
    let stage = Stage::new().await;
    for bad in ["", "-1", "+1", "x", "1000000000000000000", "1.5"] {
        let request = Request::get("/v1/stream")
            .header("authorization", format!("Bearer {}", stage.admin))
            .header("last-event-id", bad)
            .body(Body::empty())
            .unwrap();
        stage
            .send(request)
            .await
            .refuses("Last-Event-ID", "id of an event");
    }
}

#[tokio::test]
async fn the_number_of_streams_is_limited() {
    let stage = Stage::new().await;
    let mut listeners = Vec::new();
    for _ in 0..256 {
        listeners.push(Listener::open(&stage, &stage.admin, None).await);
    }
    let answer: Answer = stage
        .call(&stage.admin, Method::GET, "/v1/stream", "")
        .await;
    answer.problem(429, "too_many_streams");
    assert!(answer.headers.contains_key(header::RETRY_AFTER));
    listeners.pop();
    Listener::open(&stage, &stage.admin, None).await;
}

#[tokio::test]
async fn the_customers_of_one_tenant_cannot_use_up_all_streams() {
    let stage = Stage::new().await;
    let acme = enter(&stage, json!({})).await;
    let listen = async |cookie: &str| {
        let request = Request::get("/portal/stream")
            .header(header::HOST, "gateway.example")
            .header(header::COOKIE, cookie)
            .body(Body::empty())
            .unwrap();
        stage.router.clone().oneshot(request).await.unwrap()
    };
    let mut open = Vec::new();
    for _ in 0..16 {
        let response = listen(&acme).await;
        assert_eq!(response.status(), 200);
        open.push(response);
    }
    let second = enter(&stage, json!({})).await;
    for cookie in [&acme, &second] {
        let answer = Answer::of(listen(cookie).await).await;
        answer.problem(429, "too_many_streams");
        assert!(answer.headers.contains_key(header::RETRY_AFTER));
    }
    let globex = enter(&stage, json!({"tenant": "globex"})).await;
    assert_eq!(listen(&globex).await.status(), 200, "another tenant");
    let key = stage.token("acme", &[Scope::Read]).await;
    Listener::open(&stage, &key, None).await;
    open.pop();
    assert_eq!(listen(&acme).await.status(), 200);
}

/// As a Lambda function responds: what is new, then the end.
#[tokio::test]
async fn a_polled_stream_sends_what_is_new_and_ends() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let polled = postrider_api::router(
        Arc::clone(&stage.gateway),
        stage.shadows(),
        Streaming::Polled,
    );
    let ask = async |last_event_id: Option<&str>| {
        let mut request =
            Request::get("/v1/stream").header("authorization", format!("Bearer {}", stage.admin));
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = polled.clone().oneshot(request).await.unwrap();
        timeout(PATIENCE, Answer::of(response)).await.unwrap().text
    };
    let first = stage.delivery().await;
    stage.kill(&first).await;
    let hello = ask(None).await;
    assert!(hello.contains("retry: 2000"), "{hello}");
    assert!(!hello.contains("delivery.dead"), "only later notifications");
    let place = hello.lines().find_map(|line| line.strip_prefix("id: "));
    let second = stage.delivery().await;
    stage.kill(&second).await;
    let news = ask(place).await;
    assert!(news.contains(&second) && !news.contains(&first), "{news}");
    let all = ask(Some("0")).await;
    assert!(all.contains(&second) && all.contains(&first), "{all}");
}
