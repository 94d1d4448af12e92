//! Shadow requests: what is sent and returned, and that nothing is stored.

use http::Method;
use postrider_domain::decide::Transition;
use postrider_domain::key::Scope;
use postrider_domain::signature::{SignedRequest, verify_standard};
use postrider_gateway::shadow::MAX_AT_ONCE;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use crate::stage::{Stage, new_webhook};

const CREDENTIAL: &str = "Bearer canary-credential";

/// A delivery that is dead after a 500, to a webhook with custom headers.
async fn dead(stage: &Stage) -> String {
    let mut webhook = new_webhook();
    webhook["headers"] = json!({"Authorization": CREDENTIAL, "X-Team": "blue"});
    stage.post("/v1/webhooks", webhook).await.expect(201);
    let id = stage.delivery().await;
    stage.kill(&id).await;
    id
}

async fn shadow(stage: &Stage, id: &str, wish: Value) -> crate::stage::Answer {
    stage
        .post(&format!("/v1/deliveries/{id}/shadow"), wish)
        .await
}

#[tokio::test]
async fn a_shadow_request_is_signed_and_compared_with_the_last_attempt() {
    let (stage, receiver) = (Stage::reaching_localhost().await, Receiver::start().await);
    let kind = ("content-type", "text/plain");
    receiver.answer(
        Answer::status(200)
            .header(kind.0, kind.1)
            .body("the receiver"),
    );
    let id = dead(&stage).await;
    let answer = shadow(&stage, &id, json!({"url": receiver.url()})).await;
    let shown = answer.expect(200);

    let sent = receiver.requests().remove(0);
    assert_eq!(sent.body, "{\"n\":1}");
    assert_eq!(sent.header("postrider-shadow"), "true");
    assert_eq!(sent.header("webhook-id"), id);
    assert_eq!(sent.header("x-webhook-retry"), "1");
    assert_eq!(sent.header("authorization"), "", "meant for another");
    let parsed = id.parse::<postrider_domain::ids::DeliveryId>().unwrap();
    let tenant = postrider_domain::ids::TenantId::default();
    let store = &stage.gateway.ports.store;
    let webhook = store
        .webhook(&tenant, parsed.webhook)
        .await
        .unwrap()
        .unwrap();
    let now = stage.gateway.ports.clock.now();
    let signed = SignedRequest {
        id: &id,
        timestamp: sent.header("webhook-timestamp"),
        signatures: sent.header("webhook-signature"),
        body: &sent.body,
    };
    verify_standard(signed, [&webhook.secrets.current].into_iter(), now).unwrap();

    assert_eq!(shown["request"]["url"], receiver.url());
    assert_eq!(shown["request"]["body_bytes"], 7);
    assert_eq!(shown["request"]["headers"]["webhook-signature"], "***");
    assert_eq!(
        shown["request"]["headers_left_out"],
        json!([
            "authorization",
            "x-team",
            "x-observatory-signature",
            "x-webhook-signature"
        ])
    );
    assert_eq!(shown["shadow"]["status_code"], 200);
    assert_eq!(shown["shadow"]["content_type"], "text/plain");
    assert_eq!(shown["shadow"]["response_body"], "the receiver");
    assert_eq!(shown["shadow"]["error"], Value::Null);
    assert_eq!(shown["last_attempt"]["status_code"], 500);
    let results: Vec<_> = shown["comparison"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["aspect"].as_str().unwrap(),
                one["result"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        results,
        [
            ("status", "different"),
            ("content_type", "unknown"),
            ("body", "different")
        ]
    );
    for secret in [
        CREDENTIAL,
        "sha256=",
        "v1,",
        webhook.secrets.current.expose(),
    ] {
        assert!(!answer.text.contains(secret), "{secret}: {}", answer.text);
    }
}

#[tokio::test]
async fn custom_headers_are_sent_only_on_request() {
    let (stage, receiver) = (Stage::reaching_localhost().await, Receiver::start().await);
    let id = dead(&stage).await;
    let wish = json!({"url": receiver.url(), "include_headers": true});
    let answer = shadow(&stage, &id, wish).await;
    let shown = answer.expect(200);
    let sent = receiver.requests().remove(0);
    assert_eq!(sent.header("authorization"), CREDENTIAL);
    assert_eq!(sent.header("x-team"), "blue");
    assert!(sent.header("x-webhook-signature").starts_with("sha256="));
    assert_eq!(shown["request"]["headers"]["authorization"], "***");
    assert_eq!(shown["request"]["headers"]["x-team"], "blue");
    assert_eq!(shown["request"]["headers_left_out"], json!([]));
    assert!(!answer.text.contains(CREDENTIAL));
}

#[tokio::test]
async fn a_failing_receiver_is_a_result() {
    let stage = Stage::reaching_localhost().await;
    let id = dead(&stage).await;
    let closed = Receiver::start().await.url();
    let shown = shadow(&stage, &id, json!({"url": closed}))
        .await
        .expect(200);
    assert_eq!(shown["shadow"]["status_code"], Value::Null);
    assert_eq!(shown["shadow"]["phase"], "connect");
    let error = shown["shadow"]["error"].as_str().unwrap();
    assert!(error.starts_with("connection failed: "), "{error}");
    assert_eq!(shown["comparison"][0]["result"], "different");
}

#[tokio::test]
async fn a_delivery_that_was_never_attempted_has_no_comparison() {
    let (stage, receiver) = (Stage::reaching_localhost().await, Receiver::start().await);
    stage.webhook().await;
    let id = stage.delivery().await;
    let shown = shadow(&stage, &id, json!({"url": receiver.url()})).await;
    let shown = shown.expect(200);
    assert_eq!(
        (&shown["last_attempt"], &shown["comparison"]),
        (&Value::Null, &json!([]))
    );
    stage.attempt(&id, Transition::Deliver).await;
    let shown = shadow(&stage, &id, json!({"url": receiver.url()})).await;
    let shown = shown.expect(200);
    assert_eq!(shown["comparison"][0]["result"], "same");
    assert_eq!(shown["comparison"][2]["result"], "unknown");
}

#[tokio::test]
async fn invalid_input_is_reported_and_nothing_is_sent() {
    let stage = Stage::new().await;
    let id = dead(&stage).await;
    for (wish, field, words) in [
        (json!({"url": "nonsense"}), "url", "is not valid"),
        (json!({"url": "http://127.0.0.1/"}), "url", "loopback"),
        (json!({"url": "https://169.254.169.254/"}), "url", "169.254"),
        (
            json!({"url": "https://[::ffff:10.0.0.1]/"}),
            "url",
            "10.0.0.1",
        ),
        (json!({"url": "http://example.com/"}), "url", "use https"),
        (
            json!({"url": "https://u:p@example.com/"}),
            "url",
            "user name",
        ),
        (
            json!({"url": "https://printer.local/"}),
            "url",
            "not public",
        ),
        (json!({"url": 7}), "url", "a string"),
        (json!({}), "url", "is missing"),
        (
            json!({"url": "https://example.com/", "timeout_seconds": 21}),
            "timeout_seconds",
            "1 to 20",
        ),
        (
            json!({"url": "https://example.com/", "timeout_seconds": -1}),
            "timeout_seconds",
            "1 to 20",
        ),
        (
            json!({"url": "https://example.com/", "include_headers": "yes"}),
            "include_headers",
            "a boolean",
        ),
        (
            json!({"url": "https://example.com/", "headers": {}}),
            "headers",
            "is not known",
        ),
    ] {
        shadow(&stage, &id, wish).await.refuses(field, words);
    }
    let webhooks = stage.get("/v1/webhooks").await.expect(200);
    let own = json!({"url": webhooks["items"][0]["target_url"]});
    shadow(&stage, &id, own).await.refuses("url", "own URL");
    let unknown = format!("dlv_{}", "a".repeat(52));
    let wish = json!({"url": "https://example.com/"});
    let answer = shadow(&stage, &unknown, wish.clone()).await;
    answer.problem(404, "not_found");
    let other = stage.token("other", &Scope::ALL).await;
    let path = format!("/v1/deliveries/{id}/shadow");
    let wish = wish.to_string();
    let answer = stage.call(&other, Method::POST, &path, &wish).await;
    answer.problem(404, "not_found");
}

#[tokio::test]
async fn a_delivery_without_a_webhook_cannot_be_signed() {
    let (stage, receiver) = (Stage::reaching_localhost().await, Receiver::start().await);
    let webhook = stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    stage.delete(&format!("/v1/webhooks/{webhook}")).await;
    let answer = shadow(&stage, &id, json!({"url": receiver.url()})).await;
    answer.problem(409, "webhook_deleted");
    assert_eq!(receiver.requests().len(), 0);
}

#[tokio::test]
async fn only_a_few_shadow_requests_run_at_once() {
    let (stage, receiver) = (Stage::reaching_localhost().await, Receiver::start().await);
    let id = dead(&stage).await;
    receiver.hold();
    let wish = json!({"url": receiver.url()});
    let one_more = async {
        receiver.received(MAX_AT_ONCE).await;
        let answer = shadow(&stage, &id, wish.clone()).await;
        receiver.open();
        answer
    };
    let held = (0..MAX_AT_ONCE).map(|_| shadow(&stage, &id, wish.clone()));
    let (held, refused) = tokio::join!(futures_util::future::join_all(held), one_more);
    refused.problem(429, "too_many_shadows");
    assert!(refused.headers.contains_key(http::header::RETRY_AFTER));
    for answer in held {
        answer.expect(200);
    }
    shadow(&stage, &id, wish).await.expect(200);
    assert_eq!(receiver.requests().len(), MAX_AT_ONCE + 1);
}
