//! The catalogue in the Inspector, in the portal and for everyone. How the pages look is tested in a browser.

use http::{Method, header};
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_gateway::settings::portal::PortalSettings;
use serde_json::{Value, json};

use crate::inspector::{get, location, log_in, post};
use crate::portal::enter;
use crate::stage::Stage;

async fn put(stage: &Stage, token: &str, name: &str, entry: Value) {
    let path = format!("/v1/event-types/{name}");
    let put = stage
        .call(token, Method::PUT, &path, &entry.to_string())
        .await;
    assert!(put.status.is_success(), "{}", put.text);
}

async fn public() -> Stage {
    let portal = PortalSettings {
        public_catalogue: true,
        name: "Acme Webhooks".to_owned(),
        ..PortalSettings::default()
    };
    Stage::with_portal(portal).await
}

#[tokio::test]
async fn an_entry_is_created_changed_and_deleted_by_form() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let form = "name=order.paid%2Feu&group=Orders&description=Paid&stage=deprecated&schema=%7B%22type%22%3A%22object%22%7D&example=%7B%22a%22%3A1%7D&example=";
    let created = post(&stage, "/inspector/new-event-type", &cookie, form).await;
    let there = location(&created).to_owned();
    assert_eq!(
        there,
        "/inspector/event-types/order.paid%2Feu?done=event-type-saved"
    );
    let page = get(&stage, &there, &cookie).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("Deprecated"), "{}", page.text);
    let stored = stage
        .get("/v1/event-types/order.paid%2Feu")
        .await
        .expect(200);
    assert_eq!(stored["schema"], json!({"type": "object"}));
    assert_eq!(stored["examples"], json!([{"a": 1}]));
    let path = "/inspector/event-types/order.paid%2Feu";
    let wrong = "schema=%7B%22type%22%3A7%7D&example=%7B&description=Kept";
    let refused = post(&stage, &format!("{path}/edit"), &cookie, wrong).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused.text.contains("must be JSON: line 1"),
        "{}",
        refused.text
    );
    let wrong = "schema=%7B%22type%22%3A7%7D&description=Kept";
    let refused = post(&stage, &format!("{path}/edit"), &cookie, wrong).await;
    assert!(refused.text.contains("at /type:"), "{}", refused.text);
    assert!(refused.text.contains("Kept"), "what was given is kept");
    let saved = post(&stage, &format!("{path}/edit"), &cookie, "description=New").await;
    assert_eq!(saved.status, 303);
    let stored = stage
        .get("/v1/event-types/order.paid%2Feu")
        .await
        .expect(200);
    assert_eq!(
        (&stored["description"], &stored["schema"]),
        (&json!("New"), &Value::Null)
    );
    let deleted = post(&stage, &format!("{path}/delete"), &cookie, "").await;
    assert_eq!(
        location(&deleted),
        "/inspector/event-types?done=event-type-deleted"
    );
    assert_eq!(get(&stage, path, &cookie).await.status, 404);
}

#[tokio::test]
async fn a_key_that_may_only_read_sees_no_forms() {
    let stage = Stage::new().await;
    put(&stage, &stage.admin, "order.paid", json!({"examples": [1]})).await;
    stage.webhook().await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let cookie = log_in(&stage, &reader).await;
    for path in [
        "/inspector/event-types",
        "/inspector/event-types/order.paid",
    ] {
        let page = get(&stage, path, &cookie).await;
        assert_eq!(page.status, 200, "{path}");
        for button in ["New event type", "Delete…", "Send example", ">Edit<"] {
            assert!(!page.text.contains(button), "{path}: {button}");
        }
    }
    for path in [
        "/inspector/new-event-type",
        "/inspector/event-types/order.paid/edit",
        "/inspector/event-types/order.paid/delete",
        "/inspector/event-types/order.paid/send",
    ] {
        let refused = post(&stage, path, &cookie, "name=a.b").await;
        assert_eq!(refused.status, 403, "{path}");
    }
}

#[tokio::test]
async fn a_customer_sees_the_catalogue_and_sends_an_example() {
    let stage = Stage::new().await;
    let acme = stage.token("acme", &Scope::ALL).await;
    let globex = stage.token("globex", &Scope::ALL).await;
    put(
        &stage,
        &stage.admin,
        "order.paid",
        json!({"examples": [{"id": 1}]}),
    )
    .await;
    put(&stage, &stage.admin, "order.old", json!({"archived": true})).await;
    put(&stage, &acme, "own.thing", json!({})).await;
    put(&stage, &globex, "foreign.thing", json!({})).await;
    let webhook = json!({"name": "Mine", "target_url": "https://shop.example/hooks", "event_types": ["task.*"]});
    let webhook = stage
        .call(&acme, Method::POST, "/v1/webhooks", &webhook.to_string())
        .await
        .expect(201);
    let cookie = enter(&stage, json!({})).await;
    let list = get(&stage, "/portal/event-types", &cookie).await.text;
    assert!(
        list.contains("order.paid") && list.contains("own.thing"),
        "{list}"
    );
    assert!(
        !list.contains("order.old") && !list.contains("foreign.thing"),
        "{list}"
    );
    let page = get(&stage, "/portal/event-types/order.paid", &cookie)
        .await
        .text;
    assert!(
        page.contains("Send example") && page.contains(">Mine<"),
        "{page}"
    );
    assert!(
        !page.contains("Override") && !page.contains("Edit"),
        "{page}"
    );
    let form = format!("example=0&webhook_id={}", webhook["id"].as_str().unwrap());
    let sent = post(
        &stage,
        "/portal/event-types/order.paid/send",
        &cookie,
        &form,
    )
    .await;
    let there = location(&sent);
    assert!(there.starts_with("/portal/deliveries/"), "{there}");
    let delivery = get(&stage, there, &cookie).await;
    assert!(delivery.text.contains("order.paid"), "{}", delivery.text);
    // A session that may only read sends nothing.
    let reader = enter(&stage, json!({"scopes": ["read"]})).await;
    let refused = post(
        &stage,
        "/portal/event-types/order.paid/send",
        &reader,
        &form,
    )
    .await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn the_public_catalogue_is_off_unless_it_is_switched_on() {
    let stage = Stage::new().await;
    put(&stage, &stage.admin, "order.paid", json!({})).await;
    for path in [
        "/event-types",
        "/event-types/order.paid",
        "/event-types.json",
    ] {
        let answer = get(&stage, path, "").await;
        answer.problem(404, "unknown_route");
    }
}

#[tokio::test]
async fn everyone_sees_the_operators_entries_and_nothing_else() {
    let stage = public().await;
    let acme = stage.token("acme", &Scope::ALL).await;
    put(
        &stage,
        &stage.admin,
        "order.paid",
        json!({"description": "Paid", "examples": [{"id": 1}]}),
    )
    .await;
    put(&stage, &stage.admin, "order.old", json!({"archived": true})).await;
    put(&stage, &acme, "acme.secret", json!({})).await;
    stage.webhook().await;
    let list = get(&stage, "/event-types", "").await;
    assert_eq!(list.headers[header::CACHE_CONTROL], "public, max-age=60");
    assert!(!list.headers.contains_key(header::SET_COOKIE));
    let page = get(&stage, "/event-types/order.paid", "").await;
    let json = get(&stage, "/event-types.json", "").await;
    for answer in [&list, &page, &json] {
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.text.contains("order.paid"), "{}", answer.text);
        for hidden in [
            "order.old",
            "acme",
            "Send example",
            "/portal/webhooks",
            "/inspector",
            "Log out",
            "POSTRIDER_",
        ] {
            assert!(
                !answer.text.to_lowercase().contains(&hidden.to_lowercase())
                    || (hidden == "acme" && answer.text.contains("Acme Webhooks")),
                "{hidden}: {}",
                answer.text
            );
        }
        assert!(!answer.text.contains("acme.secret"), "{}", answer.text);
    }
    assert!(list.text.contains("Acme Webhooks"), "the portal's name");
    assert_eq!(json.headers[header::ACCESS_CONTROL_ALLOW_ORIGIN], "*");
    let items = json.json();
    assert_eq!(items["items"][0]["name"], "order.paid");
    assert_eq!(items["items"].as_array().unwrap().len(), 1);
    for path in [
        "/event-types/order.old",
        "/event-types/acme.secret",
        "/event-types/a/b",
    ] {
        let missing = get(&stage, path, "").await;
        assert_eq!(missing.status, 404, "{path}");
        assert_ne!(missing.headers[header::CACHE_CONTROL], "public, max-age=60");
    }
    // Nothing can be changed there.
    let refused = post(&stage, "/event-types/order.paid/send", "", "example=0").await;
    assert_eq!(refused.status, 404);
}

#[tokio::test]
async fn strangers_cause_one_read_per_ten_seconds() {
    let stage = public().await;
    put(&stage, &stage.admin, "order.paid", json!({})).await;
    let shows = async |name: &str| get(&stage, "/event-types", "").await.text.contains(name);
    assert!(shows("order.paid").await);
    put(&stage, &stage.admin, "order.sent", json!({})).await;
    assert!(!shows("order.sent").await, "still as it was read");
    stage.clock.advance(Millis::from_seconds(11));
    assert!(shows("order.sent").await);
}
