//! Exports and imports, from one gateway to another.

use http::Method;
use postrider_domain::decide::Transition;
use postrider_domain::key::Scope;
use postrider_domain::time::Millis;
use postrider_ports::clock::Clock as _;
use serde_json::{Value, json};

use crate::stage::{Stage, new_webhook};

const KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const OTHER_KEY: &str = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Exports everything; returns the records.
async fn exported(stage: &Stage, wish: Value) -> Vec<Value> {
    let (mut records, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut request = json!({"key": KEY, "cursor": cursor});
        for (name, value) in wish.as_object().unwrap() {
            request[name] = value.clone();
        }
        let page = stage.post("/v1/export", request).await.expect(200);
        records.extend(page["records"].as_array().unwrap().clone());
        if page["in_flight"] == true {
            stage.clock.advance(Millis::from_seconds(1));
        }
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            return records;
        }
    }
}

/// Imports records; returns the results by name.
async fn imported(stage: &Stage, records: &[Value]) -> Vec<String> {
    let request = json!({"key": KEY, "records": records});
    results(&stage.post("/v1/import", request).await.expect(200))
}

fn results(answer: &Value) -> Vec<String> {
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|one| one["result"].as_str().unwrap().to_owned())
        .collect()
}

fn kinds(records: &[Value]) -> Vec<&str> {
    let kinds = records
        .iter()
        .map(|record| record["kind"].as_str().unwrap());
    kinds.collect()
}

/// Sources by id, webhooks with secrets and headers, keys, and deliveries with their history.
#[tokio::test]
async fn everything_arrives_with_its_ids_and_a_second_import_changes_nothing() {
    let (old, new) = (Stage::new().await, Stage::new().await);
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let mut draft = new_webhook();
    draft["secret"] = secret.into();
    draft["headers"] = json!({"X-Api-Key": "canary"});
    let filter = json!({"draft": [{"exists": false}]});
    draft["filter"] = filter.clone();
    let webhook = old.post("/v1/webhooks", draft).await.expect(201);
    let webhook = webhook["id"].as_str().unwrap();
    let route =
        json!({"event_type": "*", "filter": filter, "intent": "review", "webhook_id": webhook});
    let source =
        json!({"name": "hub", "scheme": "github", "secret": "It's a Secret", "routes": [route]});
    let source = old.post("/v1/sources", source).await.expect(201);
    let token = old.token("acme", &[Scope::Publish]).await;
    let (open, delivered) = (old.delivery().await, old.delivery().await);
    old.attempt(&delivered, Transition::Deliver).await;

    let records = exported(&old, json!({"deliveries": "all"})).await;
    assert_eq!(
        kinds(&records),
        ["webhook", "source", "key", "key", "event", "event"]
    );
    let text = Value::from(records.clone()).to_string();
    for hidden in [secret, "canary", "It's a Secret", &token] {
        assert!(!text.contains(hidden), "{hidden}");
    }

    let mut first = imported(&new, &records).await;
    assert_eq!(first.remove(3), "unchanged", "both have the same first key");
    assert_eq!(first, ["created"; 5]);
    assert_eq!(imported(&new, &records).await, ["unchanged"; 6]);
    let path = format!("/v1/webhooks/{webhook}");
    let (before, after) = (old.get(&path).await, new.get(&path).await);
    for field in [
        "name",
        "target_url",
        "event_types",
        "filter",
        "headers",
        "status",
    ] {
        assert_eq!(before.json()[field], after.json()[field], "{field}");
    }
    let stored = |stage: &Stage| {
        let (store, id) = (stage.gateway.ports.store.clone(), webhook.parse().unwrap());
        async move { store.webhook(&"default".parse().unwrap(), id).await }
    };
    let (before, after) = (stored(&old).await.unwrap(), stored(&new).await.unwrap());
    let (before, after) = (before.unwrap(), after.unwrap());
    assert_eq!(before.secrets, after.secrets);
    assert_eq!(before.settings, after.settings);
    let path = format!("/v1/sources/{}", source["id"].as_str().unwrap());
    assert_eq!(new.get(&path).await.expect(200)["routes"], source["routes"]);
    let event = json!({"type": "a.b", "payload": 1});
    new.call(&token, Method::POST, "/v1/events", &event.to_string())
        .await
        .expect(202);
    for (id, status, attempts) in [(&open, "pending", 0), (&delivered, "delivered", 1)] {
        let row = new.get(&format!("/v1/deliveries/{id}")).await.expect(200);
        assert_eq!(row["status"], status, "{row}");
        assert_eq!(row["attempts"].as_array().unwrap().len(), attempts);
        assert_eq!(row["payload"], r#"{"n":1}"#);
    }
}

#[tokio::test]
async fn open_deliveries_alone_are_exported_without_the_others() {
    let stage = Stage::new().await;
    stage.webhook().await;
    stage.webhook().await;
    let published = stage.publish(json!({"n": 1})).await;
    let delivered = published["deliveries"][0]["id"].as_str().unwrap();
    stage.attempt(delivered, Transition::Deliver).await;
    let records = exported(&stage, json!({"deliveries": "open"})).await;
    assert_eq!(kinds(&records), ["webhook", "webhook", "key", "event"]);
    let deliveries = records[3]["deliveries"].as_array().unwrap();
    assert_eq!(deliveries.len(), 1, "{deliveries:?}");
    let open = &published["deliveries"][1]["webhook_id"];
    assert_eq!(&deliveries[0]["webhook_id"], open);
    let records = exported(&stage, json!({})).await;
    assert_eq!(kinds(&records), ["webhook", "webhook", "key"]);
}

#[tokio::test]
async fn a_paused_export_waits_for_attempts_and_keeps_the_status() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let held = stage.delivery().await;
    stage.hold(&held).await;
    let wish = json!({"deliveries": "open", "pause_webhooks": true});
    let records = exported(&stage, wish).await;
    assert_eq!(kinds(&records), ["webhook", "key", "event"]);
    assert_eq!(records[0]["status"], "active");
    let path = format!("/v1/webhooks/{webhook}");
    assert_eq!(stage.get(&path).await.expect(200)["status"], "paused");
    assert!(
        stage.clock.now() > crate::stage::BEGIN.plus(Millis::from_seconds(20)),
        "the lease has ended"
    );
}

#[tokio::test]
async fn what_differs_is_a_conflict_until_it_may_be_replaced() {
    let (old, new) = (Stage::new().await, Stage::new().await);
    let webhook = old.webhook().await;
    let records = exported(&old, json!({})).await;
    imported(&new, &records).await;
    let path = format!("/v1/webhooks/{webhook}");
    new.patch(&path, json!({"name": "changed"}))
        .await
        .expect(200);
    let request = json!({"key": KEY, "records": [records[0]]});
    let answer = new.post("/v1/import", request).await.expect(200);
    assert_eq!(results(&answer), ["conflict"]);
    assert_eq!(new.get(&path).await.json()["name"], "changed");
    let request = json!({"key": KEY, "records": [records[0]], "replace": true});
    let answer = new.post("/v1/import", request).await.expect(200);
    assert_eq!(results(&answer), ["replaced"]);
    assert_eq!(new.get(&path).await.json()["name"], "Tasks");
}

#[tokio::test]
async fn a_bad_record_is_rejected_alone_with_its_field() {
    let (old, new) = (Stage::new().await, Stage::new().await);
    old.webhook().await;
    let records = exported(&old, json!({})).await;
    let mut blocked = records[0].clone();
    blocked["settings"]["target_url"] = "http://10.0.0.1/".into();
    let mut newer = records[0].clone();
    newer["settings"]["from_a_newer_release"] = 1.into();
    let cases = [
        (json!({"kind": "future"}), "kind"),
        (json!({"kind": "webhook"}), "tenant"),
        (blocked, "target_url"),
        (newer, "settings.from_a_newer_release"),
    ];
    for (record, field) in cases {
        let request = json!({"key": KEY, "records": [record, records[0]]});
        let answer = new.post("/v1/import", request).await.expect(200);
        let found = &answer["results"][0];
        assert_eq!(found["result"], "rejected", "{found}");
        assert_eq!(found["errors"][0]["field"], field, "{found}");
        assert_ne!(answer["results"][1]["result"], "rejected", "{answer}");
    }
    let request = json!({"key": OTHER_KEY, "records": [records[0]]});
    let answer = new.post("/v1/import", request).await.expect(200);
    assert_eq!(answer["results"][0]["errors"][0]["field"], "sealed");
}

#[tokio::test]
async fn nothing_is_imported_into_a_tenant_that_is_being_deleted() {
    let (old, new) = (Stage::new().await, Stage::new().await);
    let tenant = json!({"id": "acme", "name": "Acme"});
    old.post("/v1/tenants", &tenant).await.expect(201);
    let scopes = [Scope::Manage, Scope::Publish, Scope::Read];
    let token = old.token("acme", &scopes).await;
    let source = json!({"name": "hub", "scheme": "github", "secret": "It's a Secret"});
    let event = json!({"type": "task.done", "payload": 1});
    for (method, path, body) in [
        (Method::POST, "/v1/webhooks", new_webhook()),
        (Method::POST, "/v1/sources", source),
        (Method::PUT, "/v1/event-types/task.done", json!({})),
        (Method::POST, "/v1/events", event),
    ] {
        let made = old.call(&token, method, path, &body.to_string()).await;
        assert!(made.status.is_success(), "{path}");
    }
    let mut records = exported(&old, json!({"deliveries": "all"})).await;
    records.retain(|record| record["tenant"] == "acme" || record["id"] == "acme");
    let all = ["webhook", "source", "key", "tenant", "event_type", "event"];
    assert_eq!(kinds(&records).len(), all.len());
    new.post("/v1/tenants", tenant).await.expect(201);
    new.delete("/v1/tenants/acme").await.expect(202);
    for kind in all {
        let record = records.iter().find(|record| record["kind"] == kind);
        let request = json!({"key": KEY, "records": [record]});
        let answer = new.post("/v1/import", request).await.expect(200);
        let found = &answer["results"][0];
        assert_eq!(found["result"], "rejected", "{kind} {found}");
        assert_eq!(found["detail"], "the tenant is being deleted", "{kind}");
    }
}

#[tokio::test]
async fn only_the_default_tenant_may_export_and_import() {
    let stage = Stage::new().await;
    let token = stage.token("acme", &Scope::ALL).await;
    let reader = stage.token("default", &[Scope::Read]).await;
    let export = json!({"key": KEY}).to_string();
    let import = json!({"key": KEY, "records": [{}]}).to_string();
    for (path, body) in [("/v1/export", &export), ("/v1/import", &import)] {
        let answer = stage.call(&token, Method::POST, path, body).await;
        answer.problem(403, "foreign_tenant");
        let answer = stage.call(&reader, Method::POST, path, body).await;
        answer.problem(403, "missing_scope");
    }
}

#[tokio::test]
async fn invalid_requests_name_their_field() {
    let stage = Stage::new().await;
    for (path, body, field) in [
        ("/v1/export", json!({"key": "short"}), "key"),
        ("/v1/export", json!({"key": KEY, "cursor": "x"}), "cursor"),
        (
            "/v1/export",
            json!({"key": KEY, "deliveries": "some"}),
            "deliveries",
        ),
        ("/v1/import", json!({"key": KEY, "records": []}), "records"),
        (
            "/v1/import",
            json!({"key": KEY, "records": [1]}),
            "records[0]",
        ),
    ] {
        stage.post(path, body).await.refuses(field, "");
    }
}

#[tokio::test]
async fn names_and_limits_of_tenants_arrive_after_what_they_limit() {
    let (old, new) = (Stage::new().await, Stage::new().await);
    let token = old.token("acme", &[Scope::Manage]).await;
    for _ in 0..2 {
        let webhook = new_webhook().to_string();
        let made = old.call(&token, Method::POST, "/v1/webhooks", &webhook);
        made.await.expect(201);
    }
    let tenant =
        json!({"id": "acme", "name": "Acme", "limits": {"webhooks": 1, "retention_days": 7}});
    let before = old.post("/v1/tenants", tenant).await.expect(201);
    let records = exported(&old, json!({})).await;
    assert_eq!(
        kinds(&records),
        ["webhook", "webhook", "key", "key", "tenant"]
    );
    assert_eq!(imported(&new, &records).await[4], "created");
    let webhooks = new
        .call(&token, Method::GET, "/v1/webhooks", "")
        .await
        .expect(200);
    assert_eq!(webhooks["items"].as_array().unwrap().len(), 2);
    let after = new.get("/v1/tenants/acme").await.expect(200);
    for field in ["id", "name", "limits"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!(imported(&new, &records).await[4], "unchanged");
    let change = json!({"name": "Other"});
    new.patch("/v1/tenants/acme", change).await.expect(200);
    assert_eq!(imported(&new, &records).await[4], "conflict");
    let request = json!({"key": KEY, "records": records, "replace": true});
    let replaced = new.post("/v1/import", request).await.expect(200);
    assert_eq!(results(&replaced)[4], "replaced");
}

#[tokio::test]
async fn the_event_catalogue_of_every_tenant_arrives() {
    let (old, new) = (Stage::new().await, Stage::new().await);
    let token = old.token("acme", &[Scope::Manage, Scope::Read]).await;
    let schema =
        json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
    let paid = json!({"description": "Paid in full.", "group": "Orders", "schema": schema, "examples": [{"id": "A-7"}]});
    let path = "/v1/event-types/order.paid";
    old.call(&old.admin, Method::PUT, path, &paid.to_string())
        .await
        .expect(201);
    let own = json!({"description": "Only for Acme.", "archived": true}).to_string();
    old.call(&token, Method::PUT, path, &own).await.expect(201);
    let records = exported(&old, json!({"deliveries": "open"})).await;
    assert_eq!(kinds(&records), ["key", "key", "event_type", "event_type"]);
    assert_eq!(imported(&new, &records).await[2..], ["created"; 2]);
    assert_eq!(imported(&new, &records).await[2..], ["unchanged"; 2]);
    for (theirs, ours) in [(&old.admin, &new.admin), (&token, &token)] {
        let before = old.call(theirs, Method::GET, path, "").await.expect(200);
        let after = new.call(ours, Method::GET, path, "").await.expect(200);
        for field in [
            "name",
            "description",
            "group",
            "schema",
            "examples",
            "deprecated",
            "archived",
            "owner",
        ] {
            assert_eq!(after[field], before[field], "{field}");
        }
    }
    let changed = json!({"description": "Changed."}).to_string();
    new.call(&token, Method::PUT, path, &changed)
        .await
        .expect(200);
    let theirs: Vec<Value> = records[2..]
        .iter()
        .filter(|record| record["tenant"] == "acme")
        .cloned()
        .collect();
    assert_eq!(imported(&new, &theirs).await, ["conflict"]);
    let request = json!({"key": KEY, "records": theirs, "replace": true});
    let replaced = new.post("/v1/import", request).await.expect(200);
    assert_eq!(results(&replaced), ["replaced"]);
    let mut bad = theirs[0].clone();
    bad["schema"] = json!({"type": "objct"});
    let request = json!({"key": KEY, "records": [bad]});
    let answer = new.post("/v1/import", request).await.expect(200);
    assert_eq!(answer["results"][0]["errors"][0]["field"], "schema");
}

/// Pages are limited by count and by size, and nothing is left out between them.
#[tokio::test]
async fn a_large_event_catalogue_is_exported_in_pages() {
    let old = Stage::new().await;
    let example = "x".repeat(15 * 1024);
    let mut names = Vec::new();
    for n in 0..120 {
        let name = format!("order.~{n:03}");
        let entry = match n {
            0..60 => json!({"examples": [example]}),
            _ => json!({}),
        };
        let path = format!("/v1/event-types/{name}");
        old.call(&old.admin, Method::PUT, &path, &entry.to_string())
            .await
            .expect(201);
        names.push(name);
    }
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, Value::Null);
    loop {
        let request = json!({"key": KEY, "cursor": cursor});
        let answer = old.post("/v1/export", request).await;
        assert!(answer.text.len() < 700 * 1024, "{}", answer.text.len());
        let page = answer.expect(200);
        let records = page["records"].as_array().unwrap();
        let types = records.iter().filter(|one| one["kind"] == "event_type");
        let types: Vec<_> = types.map(|one| one["name"].clone()).collect();
        assert!(types.len() <= 100);
        pages += usize::from(!types.is_empty());
        found.extend(types);
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(found, names);
    assert_eq!(pages, 2);
}
