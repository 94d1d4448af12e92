//! Publishing.

use axum::body::Body;
use http::{Request, StatusCode};
use postrider_domain::ids::TenantId;
use serde_json::{Value, json};

use crate::stage::{Answer, MAX_PAYLOAD, Stage};

async fn stored_body(stage: &Stage, event: &Value) -> Vec<u8> {
    let id = event["id"].as_str().unwrap().parse().unwrap();
    let stored = stage
        .gateway
        .ports
        .store
        .event(&TenantId::default(), id)
        .await;
    stored.unwrap().unwrap().body.to_vec()
}

async fn publish_with_key(stage: &Stage, key: &str, body: &Value) -> Answer {
    let request = Request::post("/v1/events")
        .header("authorization", format!("Bearer {}", stage.admin))
        .header("content-type", "application/json")
        .header("idempotency-key", key)
        .body(Body::from(body.to_string()))
        .unwrap();
    stage.send(request).await
}

#[tokio::test]
async fn an_event_goes_to_subscribed_webhooks() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let answer = stage.publish(json!({"a": 1})).await;
    assert!(answer["id"].as_str().unwrap().starts_with("evt_"));
    assert_eq!(answer["duplicate"], false);
    assert_eq!(answer["deliveries"][0]["webhook_id"], webhook);
    assert!(
        answer["deliveries"][0]["id"]
            .as_str()
            .unwrap()
            .starts_with("dlv_")
    );
    assert_eq!(answer.as_object().unwrap().len(), 3);
    let unsubscribed = json!({"type": "other.thing", "payload": null});
    let answer = stage.post("/v1/events", unsubscribed).await.expect(202);
    assert_eq!(answer["deliveries"], json!([]));
    assert_eq!(stored_body(&stage, &answer).await, b"null");
    let named = json!({"type": "other.thing", "payload": 1, "webhook_id": webhook});
    let answer = stage.post("/v1/events", named).await.expect(202);
    assert_eq!(answer["deliveries"][0]["webhook_id"], webhook);
}

#[tokio::test]
async fn a_payload_is_stored_byte_for_byte() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    for payload in [
        "{ \"b\" : 1 ,\t\"a\":\r\n [ 1 , 2 ] }",
        r#"{"a":1,"a":2,"a":{"a":3}}"#,
        r#""\u00e4\u0041\/ \ud83d\ude00 ä 😀""#,
        "123456789012345678901234567890.10",
        "1.0",
        "-0",
        "1E400",
        r#"{"":null}"#,
        "true",
        "[ ]",
        r#""\ud800""#,
    ] {
        let body = format!("{{\"payload\":  {payload} \n,\"type\":\"task.done\"}}");
        let answer = stage.post("/v1/events", &body).await.expect(202);
        assert_eq!(stored_body(&stage, &answer).await, payload.as_bytes());
        let batch = format!("{{\"events\": [ {body} ]}}");
        let answer = stage.post("/v1/events", &batch).await.expect(202);
        let answer = &answer["results"][0];
        assert_eq!(stored_body(&stage, answer).await, payload.as_bytes());
        assert_eq!(answer["deliveries"][0]["webhook_id"], webhook);
    }
}

#[tokio::test]
async fn a_deeply_nested_payload_is_accepted() {
    let stage = Stage::new().await;
    let payload = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
    let body = format!(r#"{{"type":"task.done","payload":{payload}}}"#);
    let answer = stage.post("/v1/events", body).await.expect(202);
    assert_eq!(stored_body(&stage, &answer).await, payload.as_bytes());
}

#[tokio::test]
async fn bytes_that_are_not_json_come_in_base64() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let event = json!({"type": "task.done", "payload_base64": "AP/+"});
    let answer = stage.post("/v1/events", event).await.expect(202);
    assert_eq!(stored_body(&stage, &answer).await, [0, 255, 254]);
    let delivery = answer["deliveries"][0]["id"].as_str().unwrap();
    let shown = stage
        .get(&format!("/v1/deliveries/{delivery}"))
        .await
        .expect(200);
    assert_eq!(shown["payload"], Value::Null);
    assert_eq!(shown["payload_base64"], "AP/+");
    assert_eq!(shown["content_type"], "application/octet-stream");
    let event = json!({"type": "task.done", "payload_base64": "", "content_type": "text/plain"});
    let answer = stage.post("/v1/events", event).await.expect(202);
    let delivery = answer["deliveries"][0]["id"].as_str().unwrap();
    let shown = stage
        .get(&format!("/v1/deliveries/{delivery}"))
        .await
        .expect(200);
    assert_eq!(
        (&shown["payload"], &shown["content_type"]),
        (&json!(""), &json!("text/plain"))
    );
}

#[tokio::test]
async fn invalid_fields_are_reported() {
    let stage = Stage::new().await;
    let refused = async |body: &str, field: &str, words: &str| {
        stage.post("/v1/events", body).await.refuses(field, words);
        let batch = format!(r#"{{"events":[{body}]}}"#);
        let answer = stage.post("/v1/events", batch).await.expect(202);
        let problem = &answer["results"][0];
        assert_eq!(problem["code"], "invalid_request", "{problem}");
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    };
    refused(r#"{"type":"a"}"#, "payload", "payload_base64").await;
    refused(r#"{"payload":1}"#, "type", "is missing").await;
    refused(
        r#"{"type":"a","payload":1,"payload_base64":"AA=="}"#,
        "payload",
        "not both",
    )
    .await;
    refused(
        r#"{"type":"a","payload_base64":"A"}"#,
        "payload_base64",
        "base64",
    )
    .await;
    refused(
        r#"{"type":"a","payload_base64":7}"#,
        "payload_base64",
        "a string",
    )
    .await;
    refused(r#"{"type":"a..b","payload":1}"#, "type", "128").await;
    refused(r#"{"type":7,"payload":1}"#, "type", "a string").await;
    refused(r#"{"type":"a","type":"b","payload":1}"#, "type", "twice").await;
    refused(
        r#"{"type":"a","payload":1,"payload":2}"#,
        "payload",
        "twice",
    )
    .await;
    refused(
        r#"{"type":"a","payload":1,"session":"x"}"#,
        "session",
        "not known",
    )
    .await;
    refused(
        r#"{"type":"a","payload":1,"session_id":" x"}"#,
        "session_id",
        "128",
    )
    .await;
    refused(
        r#"{"type":"a","payload":1,"content_type":""}"#,
        "content_type",
        "128",
    )
    .await;
    refused(
        r#"{"type":"a","payload":1,"webhook_id":"7"}"#,
        "webhook_id",
        "wh_",
    )
    .await;
    refused("[]", "body", "an object").await;
    refused("7", "body", "an object").await;
    for broken in [
        "{",
        "",
        r#"{"type":"a","payload":}"#,
        r#"{"type":"a","payload":01}"#,
    ] {
        stage
            .post("/v1/events", broken)
            .await
            .refuses("body", "not valid JSON");
    }
}

#[tokio::test]
async fn a_payload_of_invalid_utf8_is_refused() {
    let stage = Stage::new().await;
    let request = Request::post("/v1/events")
        .header("authorization", format!("Bearer {}", stage.admin))
        .body(Body::from(&b"{\"type\":\"a\",\"payload\":\"\xff\"}"[..]))
        .unwrap();
    stage.send(request).await.refuses("payload", "UTF-8");
}

#[tokio::test]
async fn a_payload_over_the_limit_gets_the_limit() {
    let stage = Stage::new().await;
    let limit = MAX_PAYLOAD.to_string();
    let fits = format!(
        r#"{{"type":"a","payload":"{}"}}"#,
        "x".repeat(MAX_PAYLOAD - 2)
    );
    stage.post("/v1/events", fits).await.expect(202);
    let over = format!(
        r#"{{"type":"a","payload":"{}"}}"#,
        "x".repeat(MAX_PAYLOAD - 1)
    );
    let answer = stage.post("/v1/events", &over).await;
    answer.problem(413, "payload_too_large");
    assert!(answer.json()["detail"].as_str().unwrap().contains(&limit));
    let answer = stage
        .post("/v1/events", format!(r#"{{"events":[{over}]}}"#))
        .await
        .expect(202);
    assert_eq!(answer["results"][0]["status"], 413);
    for bytes in [MAX_PAYLOAD + 1, MAX_PAYLOAD * 3] {
        let text = data_encoding::BASE64.encode(&vec![7; bytes]);
        let event = json!({"type": "a", "payload_base64": text});
        stage
            .post("/v1/events", event)
            .await
            .problem(413, "payload_too_large");
    }
    let text = data_encoding::BASE64.encode(&[7; MAX_PAYLOAD]);
    stage
        .post("/v1/events", json!({"type": "a", "payload_base64": text}))
        .await
        .expect(202);
    let huge = format!(r#"{{"type":"a","payload":"{}"}}"#, "x".repeat(6_000_000));
    let answer = stage.post("/v1/events", huge).await;
    answer.problem(413, "payload_too_large");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("6000000") && detail.contains(&limit),
        "{detail}"
    );
}

#[tokio::test]
async fn a_repeated_request_returns_the_first_event() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let event = json!({"type": "task.done", "payload": {"n": 1}});
    let first = publish_with_key(&stage, "k-1", &event).await.expect(202);
    let again = publish_with_key(&stage, "k-1", &event).await.expect(200);
    assert_eq!(again["duplicate"], true);
    assert_eq!(
        (&again["id"], &again["deliveries"]),
        (&first["id"], &first["deliveries"])
    );
    let other = json!({"type": "task.done", "payload": {"n": 2}});
    let faults = publish_with_key(&stage, "k-1", &other).await;
    assert!(faults.problem(409, "idempotency_key_reused")[0].starts_with("Idempotency-Key: "));
    let batch = json!({"events": [event]});
    for key in ["", "ä", "a b", &"x".repeat(256)] {
        for body in [&event, &batch] {
            let answer = publish_with_key(&stage, key, body).await;
            answer.refuses("Idempotency-Key", "255");
        }
    }
}

#[tokio::test]
async fn a_batch_responds_for_each_event_in_order() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let event = |n: u32| json!({"type": "task.done", "payload": n});
    let batch = json!({"events": [event(0), {"type": "task.done"}, event(2), 7]});
    let first = publish_with_key(&stage, "b", &batch).await.expect(202);
    let results = first["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    assert_eq!(results[0]["deliveries"][0]["webhook_id"], webhook);
    assert_eq!(results[1]["status"], 400);
    assert_eq!(stored_body(&stage, &results[2]).await, b"2");
    assert_eq!(results[3]["errors"][0]["field"], "body");
    let again = publish_with_key(&stage, "b", &batch).await.expect(202);
    assert_eq!(again["results"][2]["duplicate"], true);
    assert_eq!(again["results"][2]["id"], results[2]["id"]);
    let alone = publish_with_key(&stage, "b#2", &event(2)).await.expect(200);
    assert_eq!(
        alone["id"], results[2]["id"],
        "the key of the n-th is <key>#<n>"
    );
    let long = publish_with_key(&stage, &"x".repeat(253), &batch).await;
    long.refuses("Idempotency-Key", "252");
}

#[tokio::test]
async fn a_batch_has_1_to_100_events() {
    let stage = Stage::new().await;
    let batch = |n: usize| json!({"events": vec![json!({"type": "a", "payload": 1}); n]});
    let answer = stage.post("/v1/events", batch(100)).await.expect(202);
    assert_eq!(answer["results"].as_array().unwrap().len(), 100);
    for n in [0, 101, 5000] {
        stage
            .post("/v1/events", batch(n))
            .await
            .refuses("events", "1 to 100");
    }
    stage
        .post("/v1/events", json!({"events": null}))
        .await
        .refuses("events", "array");
    let both = json!({"events": [1], "type": "a"});
    stage
        .post("/v1/events", both)
        .await
        .refuses("type", "not known");
}

#[tokio::test]
async fn a_named_webhook_must_exist_and_be_enabled() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let other = stage
        .token("other", &[postrider_domain::key::Scope::Publish])
        .await;
    let event = json!({"type": "a", "payload": 1, "webhook_id": webhook}).to_string();
    let foreign = stage
        .call(&other, http::Method::POST, "/v1/events", &event)
        .await;
    assert!(foreign.problem(404, "not_found")[0].starts_with("webhook_id: "));
    stage.delete(&format!("/v1/webhooks/{webhook}")).await;
    let unknown = stage.post("/v1/events", &event).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert_eq!(
        unknown.text, foreign.text,
        "another tenant's id gets the same answer as an unknown one"
    );
}

#[tokio::test]
async fn other_content_types_are_rejected() {
    let stage = Stage::new().await;
    for (kind, status) in [
        ("application/json", 202),
        ("Application/JSON; Charset=\"UTF-8\"", 202),
        ("application/cloudevents+json", 202),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json; charset=utf-16", 415),
        ("", 415),
    ] {
        let request = Request::post("/v1/events")
            .header("authorization", format!("Bearer {}", stage.admin))
            .header("content-type", kind)
            .body(Body::from(r#"{"type":"a","payload":1}"#))
            .unwrap();
        let answer = stage.send(request).await;
        assert_eq!(answer.status.as_u16(), status, "{kind}");
        if status == 415 {
            answer.problem(415, "unsupported_media_type");
        }
    }
}
