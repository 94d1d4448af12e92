//! Erasing events and sessions, and deleting tenants.

use http::Method;
use postrider_domain::ids::TenantId;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock;
use serde_json::{Value, json};

use crate::inspector::{get, location, log_in, post};
use crate::portal::{enter, link, open};
use crate::stage::{Answer, Stage};

const ALL: [Scope; 3] = [Scope::Publish, Scope::Read, Scope::Manage];

/// What housekeeping does, as far as it is due.
async fn carry_on(stage: &Stage) {
    let (store, erasing) = (&stage.gateway.ports.store, &stage.gateway.erasing);
    for _ in 0..1000 {
        let due = store.unfinished_erasures().await.unwrap();
        let now = stage.clock.now();
        let is_due = |erasure: &postrider_ports::erasures::Erasure| {
            let progress = erasure.progress.as_ref();
            progress.is_some_and(|progress| progress.not_before <= now)
        };
        let Some((tenant, erasure)) = due.into_iter().find(|(_, erasure)| is_due(erasure)) else {
            return;
        };
        erasing.carry_on(&tenant, erasure).await.unwrap();
    }
    panic!("it does not end");
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_erased_event_is_gone_and_a_record_stays() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let published = stage.publish(json!({"canary": "c-1"})).await;
    let (event, delivery) = (
        text(&published["id"]),
        text(&published["deliveries"][0]["id"]),
    );
    stage.kill(&delivery).await;
    let path = format!("/v1/events/{event}");
    let erased = stage.delete(&path).await.expect(202);
    assert_eq!(
        (&erased["state"], &erased["kind"]),
        (&json!("done"), &json!("event"))
    );
    assert_eq!(
        (&erased["events"], &erased["deliveries"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(erased["event_id"], json!(event));
    assert!(text(&erased["key_id"]).starts_with("key_"));
    stage.get(&path).await.problem(410, "erased");
    let shown = stage.get(&format!("/v1/deliveries/{delivery}")).await;
    let shown = shown.expect(200);
    assert_eq!(shown["session_id"], Value::Null);
    assert_eq!(shown["status"], "dead");
    assert_eq!(shown["event_type"], "task.done");
    let everything = shown.to_string();
    for canary in ["c-1", "the receiver's answer", "s-1"] {
        assert!(!everything.contains(canary), "{canary}: {everything}");
    }
    let retry = format!("/v1/deliveries/{delivery}/retry");
    stage
        .post(&retry, json!({"force": true}))
        .await
        .problem(409, "payload_gone");
    let late = format!("{path}/deliveries");
    let webhook = json!({"webhook_id": stage.webhook().await});
    stage.post(&late, webhook).await.problem(404, "not_found");
    let listed = stage.get("/v1/erasures").await.expect(200);
    assert_eq!(listed["items"], json!([erased]));
    let one = format!("/v1/erasures/{}", text(&erased["id"]));
    assert_eq!(stage.get(&one).await.expect(200), erased);
    stage.delete(&path).await.expect(202);
    let unknown = "/v1/events/evt_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    stage.delete(unknown).await.problem(404, "not_found");
}

#[tokio::test]
async fn erasing_needs_manage_and_stays_within_the_tenant() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let event = text(&stage.publish(json!(1)).await["id"]);
    let path = format!("/v1/events/{event}");
    let reader = stage.token("default", &[Scope::Read, Scope::Publish]).await;
    let refused = stage.call(&reader, Method::DELETE, &path, "").await;
    refused.problem(403, "missing_scope");
    let other = stage.token("other", &ALL).await;
    let unknown = stage.call(&other, Method::DELETE, &path, "").await;
    unknown.problem(404, "not_found");
    let session = stage.call(&other, Method::DELETE, "/v1/sessions/s-1", "");
    assert_eq!(session.await.expect(202)["events"], 0);
    stage.get(&path).await.expect(200);
    let erased = stage.delete(&path).await.expect(202);
    let theirs = format!("/v1/erasures/{}", text(&erased["id"]));
    let unknown = stage.call(&other, Method::GET, &theirs, "").await;
    unknown.problem(404, "not_found");
}

#[tokio::test]
async fn an_erased_event_is_not_published_again() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let publish = || async {
        let request = http::Request::builder()
            .method(Method::POST)
            .uri("/v1/events")
            .header("authorization", format!("Bearer {}", stage.admin))
            .header("content-type", "application/json")
            .header("idempotency-key", "order-42")
            .body(
                json!({"type": "task.done", "payload": 1})
                    .to_string()
                    .into(),
            );
        stage.send(request.unwrap()).await
    };
    let first = publish().await.expect(202);
    publish().await.expect(200);
    let path = format!("/v1/events/{}", text(&first["id"]));
    stage.delete(&path).await.expect(202);
    publish().await.problem(409, "idempotency_key_reused");
    stage.get(&path).await.problem(410, "erased");
}

/// More events than one call erases, some of them with another delivery under way.
#[tokio::test]
async fn a_session_is_erased_in_slices_and_what_is_in_flight_ends_first() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let mut events = Vec::new();
    for n in 0..500 {
        let published = stage.publish(json!({"n": n})).await;
        events.push((
            text(&published["id"]),
            text(&published["deliveries"][0]["id"]),
        ));
    }
    let other = json!({"type": "task.done", "session_id": "s/2 b", "payload": 2});
    let other = stage.post("/v1/events", other).await.expect(202);
    stage.hold(&events[7].1).await;
    let begun = stage.delete("/v1/sessions/s-1").await.expect(202);
    assert_eq!(
        (&begun["state"], &begun["kind"]),
        (&json!("running"), &json!("session"))
    );
    let after = stage.publish(json!("later")).await;
    carry_on(&stage).await;
    let path = format!("/v1/erasures/{}", text(&begun["id"]));
    let waiting = stage.get(&path).await.expect(200);
    assert_eq!(
        (&waiting["state"], &waiting["events"]),
        (&json!("running"), &json!(499))
    );
    // The lease of the attempt under way ends.
    stage.clock.advance(Millis::from_seconds(30));
    carry_on(&stage).await;
    let done = stage.get(&path).await.expect(200);
    assert_eq!(
        (&done["state"], &done["events"]),
        (&json!("done"), &json!(500))
    );
    assert!(!done.to_string().contains("s-1"), "{done}");
    for (event, _) in &events {
        let path = format!("/v1/events/{event}");
        stage.get(&path).await.problem(410, "erased");
    }
    let held = stage.get(&format!("/v1/deliveries/{}", events[7].1)).await;
    assert_eq!(held.expect(200)["dead_cause"], "erased");
    for kept in [&after, &other] {
        let path = format!("/v1/events/{}", text(&kept["id"]));
        stage.get(&path).await.expect(200);
    }
    let encoded = stage.delete("/v1/sessions/s%2F2%20b").await.expect(202);
    assert_eq!(encoded["events"], 1);
}

#[tokio::test]
async fn an_erased_session_is_in_no_record_of_a_bulk_retry() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.kill(&id).await;
    stage.clock.advance(Millis::new(1));
    let retry = json!({"filter": {"session_id": "s-1"}});
    let retry = stage.post("/v1/retries", retry).await.expect(202);
    let stored = async || {
        let (tenant, id) = (TenantId::default(), text(&retry["id"]).parse().unwrap());
        let job = stage.gateway.ports.store.job(&tenant, id).await;
        job.unwrap().unwrap()
    };
    let before = stored().await;
    assert_eq!(before.filter.session_id, "s-1".parse().ok());
    let erasure = stage.delete("/v1/sessions/s-1").await.expect(202);
    assert_eq!(erasure["state"], "done");
    let after = stored().await;
    assert_eq!(after.filter.session_id, None);
    assert_eq!(after.done, before.done);
}

struct Acme {
    token: String,
    webhook: String,
    source: String,
    event: String,
}

/// A tenant with one of everything.
async fn acme(stage: &Stage) -> Acme {
    let given = json!({"id": "acme", "name": "Acme"});
    stage.post("/v1/tenants", given).await.expect(201);
    let token = stage.token("acme", &ALL).await;
    let call = |method, path: &'static str, body: Value| {
        let token = token.clone();
        async move { stage.call(&token, method, path, &body.to_string()).await }
    };
    let webhook = json!({"name": "a", "target_url": "https://example.com/", "event_types": ["**"]});
    let webhook = call(Method::POST, "/v1/webhooks", webhook)
        .await
        .expect(201);
    let source = json!({"name": "s", "scheme": "github", "secret": "a secret of some length",
        "routes": [{"event_type": "*", "intent": "i", "webhook_id": webhook["id"]}]});
    let source = call(Method::POST, "/v1/sources", source).await.expect(201);
    let entry = json!({"description": "d"}).to_string();
    let path = "/v1/event-types/task.done";
    stage.call(&token, Method::PUT, path, &entry).await;
    let event = json!({"type": "task.done", "session_id": "s-1", "payload": {"canary": 1}});
    let event = call(Method::POST, "/v1/events", event).await.expect(202);
    Acme {
        webhook: text(&webhook["id"]),
        source: text(&source["id"]),
        event: text(&event["id"]),
        token,
    }
}

async fn publish(stage: &Stage, token: &str) -> Answer {
    let event = json!({"type": "task.done", "payload": 1}).to_string();
    stage.call(token, Method::POST, "/v1/events", &event).await
}

#[tokio::test]
async fn a_deleted_tenant_accepts_nothing_from_the_first_moment() {
    let stage = Stage::new().await;
    let acme = acme(&stage).await;
    let begun = stage.delete("/v1/tenants/acme").await.expect(202);
    assert_eq!(
        (&begun["kind"], &begun["tenant"]),
        (&json!("tenant"), &json!("acme"))
    );
    assert_eq!(begun["state"], "running");
    publish(&stage, &acme.token)
        .await
        .problem(401, "invalid_token");
    let again = stage.delete("/v1/tenants/acme").await.expect(202);
    assert_eq!(again["id"], begun["id"], "the deletion under way");
    let key = json!({"name": "b", "scopes": ["publish"], "tenant": "acme"});
    stage
        .post("/v1/keys", key)
        .await
        .problem(409, "tenant_deleted");
    let link = json!({"tenant": "acme", "expires_in_seconds": 600});
    stage
        .post("/v1/portal-links", link)
        .await
        .problem(409, "tenant_deleted");
    let tenant = json!({"id": "acme", "name": "Acme again"});
    stage
        .post("/v1/tenants", &tenant)
        .await
        .problem(409, "tenant_deleted");
    let change = json!({"name": "b"});
    stage
        .patch("/v1/tenants/acme", change)
        .await
        .problem(409, "tenant_deleted");
    // A process that still remembers a key of the tenant is refused by the store.
    let id: TenantId = "acme".parse().unwrap();
    let draft = postrider_gateway::ingest::EventDraft {
        event_type: "task.done".to_owned(),
        body: bytes::Bytes::from_static(b"1"),
        content_type: "application/json".to_owned(),
        session_id: None,
        webhook_id: None,
        origin: postrider_domain::event::Origin::Api,
    };
    let refused = stage.gateway.ingest.publish(&id, draft, None).await;
    let refused = refused.unwrap_err().to_string();
    assert_eq!(refused, "the tenant is being deleted");
    let shown = stage.get("/v1/tenants/acme").await.expect(200);
    assert_eq!(shown["deletion"]["erasure_id"], begun["id"]);
}

#[tokio::test]
async fn a_tenant_is_deleted_with_everything_and_can_be_created_again() {
    let stage = Stage::new().await;
    let acme = acme(&stage).await;
    let mine = text(&stage.publish(json!("mine")).await["id"]);
    let begun = stage.delete("/v1/tenants/acme").await.expect(202);
    carry_on(&stage).await;
    let path = format!("/v1/erasures/{}", text(&begun["id"]));
    assert_eq!(stage.get(&path).await.expect(200)["state"], "running");
    stage.clock.advance(Millis::from_seconds(11));
    carry_on(&stage).await;
    let done = stage.get(&path).await.expect(200);
    assert_eq!(done["state"], "done", "{done}");
    for (counted, count) in [
        ("events", 1),
        ("deliveries", 1),
        ("webhooks", 1),
        ("sources", 1),
        ("keys", 1),
        ("event_types", 1),
    ] {
        assert_eq!(done[counted], count, "{counted}");
    }
    assert_eq!(
        stage.get("/v1/erasures").await.expect(200)["items"],
        json!([done])
    );
    stage
        .get("/v1/tenants/acme")
        .await
        .problem(404, "not_found");
    stage
        .delete("/v1/tenants/acme")
        .await
        .problem(404, "not_found");
    let tenant = json!({"id": "acme", "name": "Acme again"});
    stage.post("/v1/tenants", tenant).await.expect(201);
    let token = stage.token("acme", &ALL).await;
    for path in [
        format!("/v1/webhooks/{}", acme.webhook),
        format!("/v1/sources/{}", acme.source),
        format!("/v1/events/{}", acme.event),
    ] {
        let gone = stage.call(&token, Method::GET, &path, "").await;
        gone.problem(404, "not_found");
    }
    for path in [
        "/v1/deliveries",
        "/v1/keys",
        "/v1/event-types",
        "/v1/webhooks",
    ] {
        let listed = stage.call(&token, Method::GET, path, "").await.expect(200);
        let expected = usize::from(path == "/v1/keys");
        assert_eq!(
            listed["items"].as_array().unwrap().len(),
            expected,
            "{path}"
        );
    }
    assert_eq!(
        publish(&stage, &token).await.expect(202)["deliveries"],
        json!([])
    );
    stage.get(&format!("/v1/events/{mine}")).await.expect(200);
}

#[tokio::test]
async fn only_the_operator_deletes_tenants_and_not_its_own() {
    let stage = Stage::new().await;
    let acme = acme(&stage).await;
    let refused = stage.call(&acme.token, Method::DELETE, "/v1/tenants/acme", "");
    refused.await.problem(403, "foreign_tenant");
    stage
        .delete("/v1/tenants/default")
        .await
        .problem(409, "default_tenant");
    stage
        .delete("/v1/tenants/nobody")
        .await
        .problem(404, "not_found");
    publish(&stage, &acme.token).await.expect(202);
    let listed = stage.get("/v1/erasures").await.expect(200);
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test]
async fn the_inspector_shows_a_tenant_that_is_being_deleted() {
    let stage = Stage::new().await;
    acme(&stage).await;
    let cookie = log_in(&stage, &stage.admin).await;
    let page = get(&stage, "/inspector/usage", &cookie).await;
    assert!(!page.text.contains("Being deleted"));
    stage.delete("/v1/tenants/acme").await.expect(202);
    let page = get(&stage, "/inspector/usage", &cookie).await;
    assert!(page.text.contains("Being deleted"));
}

/// Only by an operator who may change something, and only after its id was typed.
#[tokio::test]
async fn a_tenant_is_deleted_in_the_inspector_once_its_id_was_typed() {
    let stage = Stage::new().await;
    let acme = acme(&stage).await;
    let (page, path) = (
        "/inspector/usage?tenant=acme",
        "/inspector/tenants/acme/delete",
    );
    let operator = log_in(&stage, &stage.admin).await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let reader = log_in(&stage, &reader).await;
    let customer = log_in(&stage, &acme.token).await;
    let has_button = |answer: &Answer| answer.text.contains(path);
    assert!(has_button(&get(&stage, page, &operator).await));
    assert!(!has_button(&get(&stage, page, &reader).await));
    let default = get(&stage, "/inspector/usage?tenant=default", &operator).await;
    assert!(!default.text.contains("Delete tenant"));
    for (cookie, form, status) in [
        (&operator, "confirm=", 400),
        (&operator, "confirm=acm", 400),
        (&reader, "confirm=acme", 403),
        (&customer, "confirm=acme", 404),
    ] {
        let answer = post(&stage, path, cookie, form).await;
        assert_eq!(answer.status, status, "{form}");
        publish(&stage, &acme.token).await.expect(202);
    }
    let answer = post(&stage, path, &operator, "confirm=acme").await;
    assert_eq!(location(&answer), "/inspector/usage?done=tenant-deleted");
    publish(&stage, &acme.token)
        .await
        .problem(401, "invalid_token");
    let after = get(&stage, page, &operator).await;
    assert!(after.text.contains("Being deleted") && !has_button(&after));
}

#[tokio::test]
async fn deleting_a_tenant_logs_its_customers_out_of_the_portal() {
    let stage = Stage::new().await;
    acme(&stage).await;
    let cookie = enter(&stage, json!({})).await;
    let unused = link(&stage, json!({})).await;
    assert_eq!(get(&stage, "/portal/webhooks", &cookie).await.status, 200);
    stage.delete("/v1/tenants/acme").await.expect(202);
    assert_ne!(get(&stage, "/portal/webhooks", &cookie).await.status, 200);
    assert_eq!(open(&stage, &unused).await.status, 401);
    carry_on(&stage).await;
    stage.clock.advance(Millis::from_seconds(11));
    carry_on(&stage).await;
    let gone = get(&stage, "/portal/webhooks", &cookie).await;
    assert_ne!(gone.status, 200, "the tenant no longer exists");
    // A key alone makes a tenant of this name, without a record.
    let key = json!({"name": "k", "tenant": "acme", "scopes": ["read"]});
    stage.post("/v1/keys", key).await.expect(201);
    let unrecorded = get(&stage, "/portal/webhooks", &cookie).await;
    assert_ne!(unrecorded.status, 200, "it is another tenant");
    let tenant = json!({"id": "acme", "name": "Acme again"});
    stage.post("/v1/tenants", tenant).await.expect(201);
    let again = get(&stage, "/portal/webhooks", &cookie).await;
    assert_ne!(again.status, 200, "it is another tenant");
    assert_eq!(open(&stage, &unused).await.status, 401);
    stage.clock.advance(Millis::from_seconds(1));
    let cookie = enter(&stage, json!({})).await;
    assert_eq!(get(&stage, "/portal/webhooks", &cookie).await.status, 200);
}
