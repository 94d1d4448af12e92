//! What customers have a part in: templates, filters, schemas, keys, portal links, erasures, exports and backups.

use http::{Method, header};
use postrider_testkit::receiver::{Answer, Receiver};
use reqwest::Client;
use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::{BODY, CREDENTIAL, LOGGED, QUERY, SECRET, contains, files, notifications};
use crate::command::{Serve, TOKEN};
use crate::moving::{PASSPHRASE, run};
use postrider_tests::api::Api;

const SCHEMA: (&str, &str) = ("POSTRIDER_EVENT_VALIDATION", "reject");
const SESSION: &str = "canary-of-a-session";

fn client() -> Client {
    let client = Client::builder().no_proxy().redirect(Policy::none());
    client.build().unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A template that needs an amount, and its webhook for a customer.
async fn webhook(api: &Api, receiver: &Receiver) -> Value {
    let draft = json!({
        "name": "canary", "event_types": ["order.*"], "secret": SECRET,
        "target_url": format!("{}?key={QUERY}", receiver.url()),
        "headers": {"Authorization": CREDENTIAL},
        "filter": {"text": [{"prefix": "canary"}]},
        "template": {"body": "{\"text\": {{ payload.text }}, \"amount\": {{ payload.amount.cents / 100 }}}"},
        "retry": {"profile": "custom", "delays_seconds": [1]},
    });
    api.call(Method::POST, "/v1/webhooks", Some(draft)).await
}

/// Publishes one event that is delivered, one whose template fails and one that does not match its schema.
async fn publish(api: &Api) -> Vec<Value> {
    let mut answers = Vec::new();
    let schema = json!({"schema": {"properties": {"text": {"pattern": "^canary"}}}});
    let path = "/v1/event-types/order.paid";
    answers.push(api.call(Method::PUT, path, Some(schema)).await);
    let event =
        |payload: Value| json!({"type": "order.paid", "session_id": SESSION, "payload": payload});
    for amount in [json!({"cents": 5}), json!(null)] {
        let event = event(json!({"text": BODY, "amount": amount}));
        let answer = api.call(Method::POST, "/v1/events", Some(event)).await;
        let mut row = api
            .settled(answer["deliveries"][0]["id"].as_str().unwrap())
            .await;
        let expected = if amount.is_null() {
            "dead"
        } else {
            "delivered"
        };
        assert_eq!(row["status"], expected, "{row}");
        answers.extend([
            answer,
            row["attempts"].take(),
            row["error_detail"].take(),
            row["why"].take(),
        ]);
    }
    let mismatch = event(json!({"text": format!("no {BODY}")})).to_string();
    let rejected = api.try_call(Method::POST, "/v1/events", Some(mismatch));
    let (status, problem) = rejected.await.unwrap();
    assert_eq!(status, 400, "{problem}");
    answers.push(problem);
    answers
}

/// Tries filter and template on the payload, and returns what failed.
async fn preview(api: &Api) -> Vec<Value> {
    let payload = json!({"text": BODY});
    let filter = json!({"filter": {"text": ["other"]}, "payload": payload});
    let matched = api
        .call(Method::POST, "/v1/filters/test", Some(filter))
        .await;
    assert_eq!(matched["matches"], false);
    let template =
        json!({"template": {"body": "{{ payload.a.b }}"}, "payload": payload}).to_string();
    let failed = api.try_call(Method::POST, "/v1/templates/test", Some(template));
    let (status, problem) = failed.await.unwrap();
    assert_eq!(status, 400, "{problem}");
    vec![matched, problem]
}

/// The token of a portal link and the cookie of the session that it begins.
async fn enter_portal(gateway: &Serve, tenant: &str) -> [String; 2] {
    let wish = json!({"tenant": tenant, "expires_in_seconds": 3600});
    let link = gateway
        .call(Method::POST, "/v1/portal-links", Some(wish))
        .await;
    let token = text(&link["url"])
        .rsplit_once("once=")
        .unwrap()
        .1
        .to_owned();
    let login = client()
        .post(format!("{}/portal/login", gateway.url))
        .header(header::ORIGIN, &gateway.url)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(format!("once={token}"));
    let login = login.send().await.unwrap();
    assert_eq!(login.status(), 303);
    let cookie = login.headers()[header::SET_COOKIE].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let page = client()
        .get(format!("{}/portal/webhooks", gateway.url))
        .header(header::COOKIE, &cookie);
    assert_eq!(page.send().await.unwrap().status(), 200);
    [token, cookie.rsplit_once('.').unwrap().1.to_owned()]
}

/// Runs the command against this gateway.
async fn postrider(gateway: &Serve, arguments: &[&str]) {
    let (code, out, err) = run(&gateway.url, TOKEN, arguments, PASSPHRASE).await;
    let said = out + &err;
    assert_eq!(code, 0, "{said}");
    for canary in [SECRET, CREDENTIAL, BODY, TOKEN, PASSPHRASE] {
        assert!(!said.contains(canary), "{canary} in {said}");
    }
}

#[tokio::test]
async fn a_canary_of_a_customer_appears_in_no_log_error_notification_metric_export_or_backup() {
    let receiver = Receiver::start().await;
    receiver.answer_next([Answer::status(500)]);
    let (data, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = logs.path().join("log");
    let settings = [LOGGED.as_slice(), &[SCHEMA]].concat();
    let mut gateway = Serve::start_logged(data.path(), &settings, &log).await;

    let tenant = json!({"id": "acme", "name": "Acme"});
    gateway
        .call(Method::POST, "/v1/tenants", Some(tenant))
        .await;
    let wish = json!({"name": "acme", "tenant": "acme", "scopes": ["publish", "read", "manage"]});
    let key = gateway.call(Method::POST, "/v1/keys", Some(wish)).await;
    let key = text(&key["token"]);
    let customer = Api::new(gateway.url.clone(), key.clone());
    let made = webhook(&customer, &receiver).await;
    assert_eq!(made["secret"], SECRET, "shown once, on creation");
    let mut answers = publish(&customer).await;
    answers.extend(preview(&customer).await);
    let [token, cookie] = enter_portal(&gateway, "acme").await;
    for path in ["/v1/webhooks", "/v1/event-types", "/v1/usage", "/v1/keys"] {
        answers.push(customer.call(Method::GET, path, None).await);
    }
    let metrics = format!("{}/metrics", gateway.url);
    let metrics = client()
        .get(metrics)
        .bearer_auth(TOKEN)
        .send()
        .await
        .unwrap();
    answers.push(metrics.text().await.unwrap().into());

    let copies = tempfile::tempdir().unwrap();
    let copy = |name: &str| copies.path().join(name).display().to_string();
    let there = data.path().display().to_string();
    postrider(&gateway, &["--data", &there, "backup", &copy("backup")]).await;
    postrider(&gateway, &["export", &copy("export")]).await;
    let told = notifications(&customer, "delivery.dead").await;
    let erased = format!("/v1/sessions/{SESSION}");
    let erasure = customer.call(Method::DELETE, &erased, None).await;
    assert_eq!(erasure["kind"], "session");
    answers.push(told.into());

    let canaries = [
        SECRET, CREDENTIAL, BODY, QUERY, &key, &token, &cookie, PASSPHRASE, TOKEN,
    ];
    for answer in answers {
        let text = answer.to_string();
        let shown = canaries
            .iter()
            .find(|canary| **canary != QUERY && text.contains(**canary));
        assert_eq!(shown, None, "{text}");
    }
    assert!(gateway.terminate().await);
    let logged = std::fs::read(&log).unwrap();
    for event in ["delivery.attempted", "event.schema_mismatch_rejected"] {
        assert!(contains(&logged, event), "{event} was logged");
    }
    for canary in canaries.into_iter().chain([SESSION]) {
        assert!(!contains(&logged, canary), "{canary} in the log");
    }
    let copied = files(copies.path());
    assert_eq!(copied.len(), 2);
    for (name, bytes) in files(data.path()).into_iter().chain(copied) {
        for canary in [SECRET, CREDENTIAL, &key, &token, &cookie, PASSPHRASE, TOKEN] {
            assert!(!contains(&bytes, canary), "{canary} in {name}");
        }
    }
}
