//! `postrider show`.

use postrider_testkit::receiver::Answer;
use serde_json::json;

use super::{dead_delivery, impatient};
use crate::command::TOKEN;
use crate::inbound_command::Stage;

#[tokio::test]
async fn a_delivery_is_shown_with_every_attempt_and_why_it_failed() {
    let stage = Stage::new().await;
    let retry = json!({"profile": "custom", "delays_seconds": [1]});
    let webhook = stage.gateway.webhook(&stage.receiver.url(), &retry).await;
    stage
        .receiver
        .answer(Answer::status(503).body("closed\u{1b}[2J for tonight"));
    let id = stage.gateway.publish(&webhook, r#"{"n": 1.00}"#).await;
    stage.gateway.settled(&id).await;
    let shown = stage.run(&["show", &id]).await.well().out;
    let delivery = stage.get(&format!("/v1/deliveries/{id}")).await;
    let why = &delivery["why"];
    for part in [
        "✗ dead",
        "2 of 2",
        "#1  ",
        "#2  ",
        "503 Service Unavailable",
        "s later",
        "first byte",
        "closed\\u{1b}[2J for tonight",
        "LAST REQUEST",
        "x-webhook-retry: 1",
        "webhook-signature: v1,***",
        "use --payload to see it",
        why["title"].as_str().unwrap(),
        why["meaning"].as_str().unwrap(),
        why["advice"][0].as_str().unwrap(),
        why["outlook"].as_str().unwrap(),
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    assert!(
        !shown.contains('\u{1b}') && !shown.contains("\"n\""),
        "{shown}"
    );
    let whole = stage
        .run(&["deliveries", "show", &id, "--payload"])
        .await
        .well();
    assert!(whole.out.contains("{\n  \"n\": 1.00\n}"), "{}", whole.out);
    let document = stage.run(&["show", &id, "--json"]).await.well().json();
    assert_eq!(document["why"], *why);
}

#[tokio::test]
async fn the_inspector_and_the_command_give_the_same_reason() {
    let stage = Stage::new().await;
    let webhook = impatient(&stage).await;
    let id = dead_delivery(&stage, &webhook).await;
    let shown = stage.run(&["show", &id, "--json"]).await.well().json();
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let login = client
        .post(format!("{}/inspector/login", stage.gateway.url))
        .header("origin", &stage.gateway.url)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(format!("key={TOKEN}"));
    let login = login.send().await.unwrap();
    let cookie = login.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let page = format!("{}/inspector/deliveries/{id}", stage.gateway.url);
    let page = client
        .get(page)
        .header("cookie", cookie)
        .send()
        .await
        .unwrap();
    let page = page.text().await.unwrap();
    for words in ["title", "meaning", "outlook"] {
        let words = shown["why"][words].as_str().unwrap();
        assert!(page.contains(words), "{words} in {page}");
    }
}

#[tokio::test]
async fn an_event_is_shown_and_delivered_to_a_webhook_that_did_not_get_it() {
    let stage = Stage::new().await;
    let event = json!({"type": "order.paid", "payload": {"n": 7}});
    let stored = stage
        .gateway
        .call(http::Method::POST, "/v1/events", Some(event));
    let stored = stored.await;
    let event = stored["id"].as_str().unwrap().to_owned();
    let first = stored["deliveries"][0]["id"].as_str().unwrap();
    stage.gateway.settled(first).await;
    let shown = stage.run(&["show", &event, "--payload"]).await.well();
    for part in ["order.paid", "delivered", "{\n  \"n\": 7\n}"] {
        assert!(shown.out.contains(part), "{part} in\n{}", shown.out);
    }
    let webhook = impatient(&stage).await;
    let deliver = ["events", "deliver", &event, "--webhook", &webhook, "--wait"];
    let delivered = stage.run(&deliver).await.well();
    assert!(delivered.out.contains("delivered"), "{}", delivered.out);
    let document = stage.run(&["events", "show", &event, "--json"]).await;
    let document = document.well().json();
    let deliveries = document["deliveries"].as_array().unwrap();
    let is_delivered = |delivery: &&serde_json::Value| delivery["status"] == "delivered";
    assert_eq!(deliveries.iter().filter(is_delivered).count(), 2);
    let again = stage.run(&deliver).await;
    assert!(
        again.err.contains("already has a delivery"),
        "{}",
        again.err
    );
}
