//! `postrider shadow`.

use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use crate::inbound_command::Stage;

#[tokio::test]
async fn a_dead_delivery_is_sent_to_another_url_and_compared() {
    let stage = Stage::new().await;
    let other = Receiver::start().await;
    stage.receiver.answer(Answer::status(500).body("no"));
    other.answer(
        Answer::status(200)
            .body("yes")
            .header("content-type", "text/plain"),
    );
    let once = json!({"profile": "gateway", "max_attempts": 1});
    let webhook = stage.gateway.webhook(&stage.receiver.url(), &once).await;
    let id = stage.gateway.publish(&webhook, r#"{"task":42}"#).await;
    let before = stage.gateway.settled(&id).await;
    let url = other.url();

    let shown = stage
        .run(&["shadow", &id, "--to", &url, "--timeout", "5s"])
        .await
        .well();
    for part in [
        "✓ 200",
        "LAST ATTEMPT, #1",
        "text/plain",
        "200 here, 500 on the last attempt",
        "\nyes",
    ] {
        assert!(shown.out.contains(part), "{part} in {}", shown.out);
    }
    assert!(
        shown.err.contains("does not count as an attempt"),
        "{}",
        shown.err
    );
    assert_eq!(other.requests()[0].body, r#"{"task":42}"#);
    assert_eq!(stage.get(&format!("/v1/deliveries/{id}")).await, before);

    other.answer(Answer::status(404));
    let not_there = stage.run(&["shadow", &id, "--to", &url, "--json"]).await;
    assert_eq!(not_there.code, 1, "{}", not_there.err);
    assert_eq!(not_there.json()["shadow"]["status_code"], 404);

    for (to, timeout, field) in [
        ("https://10.0.0.1/", "5s", "url"),
        (url.as_str(), "21s", "timeout_seconds"),
    ] {
        let refused = stage
            .run(&["shadow", &id, "--to", to, "--timeout", timeout])
            .await;
        assert_eq!(refused.code, 3, "{}", refused.err);
        assert!(refused.err.contains(field), "{}", refused.err);
    }
    assert_eq!(other.requests().len(), 2);
}
