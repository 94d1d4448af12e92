use postrider_domain::delivery::Status;
use postrider_domain::ids::TenantId;
use postrider_domain::retry::RetrySettings;
use postrider_domain::shadow::ShadowDraft;
use postrider_domain::signature::{SignedRequest, verify_standard};
use postrider_gateway::GatewayError;
use postrider_gateway::error::Conflict;
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::{Answer, Receiver};
use rusqlite::types::Value;

use super::world::World;

fn to(url: &str) -> ShadowDraft {
    ShadowDraft {
        url: url.to_owned(),
        ..ShadowDraft::default()
    }
}

fn times(max_attempts: u32) -> RetrySettings {
    RetrySettings {
        max_attempts: Some(max_attempts),
        ..RetrySettings::default()
    }
}

/// Every row of every table.
fn everything(world: &World) -> Vec<(String, Vec<Vec<Value>>)> {
    let database = world.database();
    let mut names = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        .unwrap();
    let names = names.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let names: Vec<String> = names.map(Result::unwrap).collect();
    let rows = |table: &str| {
        let mut all = database.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = all.column_count();
        let rows = all.query_map([], |row| (0..columns).map(|n| row.get(n)).collect());
        rows.unwrap().map(Result::unwrap).collect()
    };
    names
        .into_iter()
        .map(|name| (name.clone(), rows(&name)))
        .collect()
}

#[tokio::test]
async fn a_shadow_request_changes_no_stored_byte() {
    let world = World::new().await;
    let elsewhere = Receiver::start().await;
    let (patient, hasty) = (world.webhook(times(5)).await, world.webhook(times(1)).await);
    let delivered = world.publish(patient.id).await;
    world.receiver.answer(Answer::status(500).body("no"));
    let dead = world.publish(hasty.id).await;
    let failed = world.publish(patient.id).await;
    for (id, status) in [
        (delivered, Status::Delivered),
        (dead, Status::Dead),
        (failed, Status::Failed),
    ] {
        assert_eq!(world.row(id).await.status, status);
    }
    let before = everything(&world);
    let stored: Vec<_> = before
        .iter()
        .map(|(name, rows)| (name.as_str(), rows.len()))
        .collect();
    for expected in [("webhook_deliveries", 3), ("attempts", 2), ("outbox", 3)] {
        assert!(stored.contains(&expected), "{stored:?}");
    }
    let sent = world.receiver.requests().len();

    let tenant = TenantId::default();
    for (n, (id, webhook)) in [(dead, &hasty), (failed, &patient), (delivered, &patient)]
        .into_iter()
        .enumerate()
    {
        let shadowed = world
            .shadows()
            .send(&tenant, id, to(&elsewhere.url()))
            .await
            .unwrap();
        assert_eq!(shadowed.reply.status_code, Some(200));
        let request = elsewhere.requests().remove(n);
        assert_eq!(request.body, "{ \"task\" : 1 }");
        assert_eq!(request.header("postrider-shadow"), "true");
        let signed = SignedRequest {
            id: &id.to_string(),
            timestamp: request.header("webhook-timestamp"),
            signatures: request.header("webhook-signature"),
            body: &request.body,
        };
        let now = world.clock.now();
        verify_standard(signed, [&webhook.secrets.current].into_iter(), now).unwrap();
    }
    world.sweep().await;
    world.cycle().await;
    assert_eq!(elsewhere.requests().len(), 3);
    assert_eq!(world.receiver.requests().len(), sent);
    assert_eq!(everything(&world), before);

    world.receiver.answer(Answer::status(200));
    world.next_attempt(failed).await;
    let row = world.row(failed).await;
    assert_eq!((row.status, row.attempts_total), (Status::Delivered, 2));
    let request = world.receiver.requests().pop().unwrap();
    assert_eq!(request.header("postrider-shadow"), "");
}

#[tokio::test]
async fn a_shadow_request_obeys_the_egress_rules() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    for url in [
        "https://10.0.0.1/",
        "https://127.0.0.2/",
        "https://[::1]/",
        "https://2130706434/",
        "https://169.254.169.254/latest/meta-data/",
        "https://metadata.google.internal/",
        "https://localhost/",
        "ftp://example.com/",
        "http://93.184.216.34/",
        "https://93.184.216.34:22/",
    ] {
        let refused = world
            .shadows()
            .send(&TenantId::default(), id, to(url))
            .await;
        let Err(GatewayError::Invalid(faults)) = refused else {
            panic!("{url}: {refused:?}")
        };
        let faults = faults.into_fields();
        assert_eq!(faults[0].field, "url", "{url}");
    }
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_shadow_request_needs_the_secrets_of_its_webhook() {
    let world = World::new().await;
    world.receiver.answer(Answer::status(500));
    let tenant = TenantId::default();
    let webhook = world.webhook(times(1)).await;
    let id = world.publish(webhook.id).await;
    let manage = &world.gateway().manage;
    manage.delete(&tenant, webhook.id).await.unwrap();
    let url = world.receiver.url();
    let refused = world.shadows().send(&tenant, id, to(&url)).await;
    assert!(
        matches!(
            refused,
            Err(GatewayError::Conflict(Conflict::WebhookDeleted))
        ),
        "{refused:?}"
    );
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_shadow_request_of_a_paused_webhook_is_sent_at_once() {
    let world = World::new().await;
    let elsewhere = Receiver::start().await;
    let tenant = TenantId::default();
    let webhook = world.webhook(RetrySettings::default()).await;
    world
        .gateway()
        .manage
        .pause(&tenant, webhook.id)
        .await
        .unwrap();
    let id = world.publish(webhook.id).await;
    let before = world.row(id).await;
    assert!(before.lease_owner.is_none() && before.attempts_total == 0);
    let shadowed = world
        .shadows()
        .send(&tenant, id, to(&elsewhere.url()))
        .await
        .unwrap();
    assert!(shadowed.last.is_none() && shadowed.compared.is_empty());
    assert_eq!(elsewhere.requests().len(), 1);
    assert_eq!(world.row(id).await, before);
    assert_eq!(world.receiver.requests().len(), 0);
}
