//! Signed requests are stored once and routed.

use postrider_domain::event::Origin;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Millis;
use postrider_ports::queue::QueueMessage;
use serde_json::json;

use crate::stage::{Stage, sign};

#[tokio::test]
async fn a_signed_request_is_stored_and_routed() {
    let stage = Stage::new();
    let webhook = stage.webhook(1).await;
    let session = Some("reviewer-cluster");
    let source = stage
        .source(&[("pull_request.*", "code_review", session, webhook)])
        .await;
    let answer = stage
        .deliver(&source, "1", "pull_request.opened", "{ \"n\" : 1 }")
        .await;
    let accepted = answer.expect(202);
    assert_eq!(accepted["duplicate"], false);
    assert_eq!(accepted["deliveries"][0]["webhook_id"], webhook.to_string());
    assert_eq!(answer.headers["cache-control"], "no-store");
    let event = stage.event(&accepted).await;
    assert_eq!(&event.body[..], b"{ \"n\" : 1 }");
    assert_eq!(event.event_type.as_str(), "pull_request.opened");
    assert_eq!(
        (event.origin, &event.session_id),
        (Origin::Source(source.id), &None)
    );
    let rows = stage.rows(&accepted).await;
    let label = |label: &Option<postrider_domain::event::Label>| label.clone().map(String::from);
    assert_eq!(label(&rows[0].session_id).as_deref(), session);
    assert_eq!(label(&rows[0].intent).as_deref(), Some("code_review"));
    assert_eq!(stage.take_messages(), [QueueMessage::of(&rows[0])]);
}

#[tokio::test]
async fn a_repeated_delivery_gets_the_first_answer_whatever_its_body() {
    let stage = Stage::new();
    let webhook = stage.webhook(1).await;
    let source = stage.source(&[("*", "do", None, webhook)]).await;
    let first = stage
        .deliver(&source, "same", "a", "{\"try\":1}")
        .await
        .expect(202);
    stage.take_messages();
    stage.clock.advance(Millis::from_seconds(3600));
    for body in ["{\"try\":1}", "{\"try\":2}"] {
        let mut again = stage.deliver(&source, "same", "a", body).await.expect(200);
        assert_eq!(again["duplicate"], true);
        again["duplicate"] = json!(false);
        assert_eq!(again, first);
    }
    assert_eq!(stage.take_messages(), [], "nothing new is sent");
    assert_eq!(&stage.event(&first).await.body[..], b"{\"try\":1}");
    let other = stage.source(&[]).await;
    let same_id = stage.deliver(&other, "same", "a", "{}").await.expect(202);
    assert_ne!(same_id["id"], first["id"], "ids are scoped to a source");
}

#[tokio::test]
async fn deliveries_without_an_id_are_separate_events() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let signature = sign(crate::stage::SECRET, b"{}");
    let post = async || {
        let headers = [("x-observatory-signature", signature.as_str())];
        stage
            .post(&source.id.to_string(), &headers, b"{}")
            .await
            .expect(202)
    };
    assert_ne!(post().await["id"], post().await["id"]);
}

#[tokio::test]
async fn an_event_without_a_matching_route_is_stored() {
    let stage = Stage::new();
    let webhook = stage.webhook(1).await;
    let source = stage.source(&[("push", "build", None, webhook)]).await;
    let accepted = stage
        .deliver(&source, "1", "pull_request.opened", "{}")
        .await
        .expect(202);
    assert_eq!(accepted["deliveries"], json!([]));
    assert_eq!(
        stage.event(&accepted).await.event_type.as_str(),
        "pull_request.opened"
    );
    assert_eq!(stage.take_messages(), []);
}

#[tokio::test]
async fn a_webhook_created_or_deleted_in_the_meantime_is_noticed() {
    let stage = Stage::new();
    let first = stage.webhook(1).await;
    let source = stage.source(&[("*", "do", None, first)]).await;
    stage.deliver(&source, "1", "a", "{}").await.expect(202);
    let second = stage.webhook(2).await;
    let store = &stage.gateway.ports.store;
    let tenant = TenantId::default();
    assert_eq!(
        store
            .delete_webhook(&tenant, first, source.created_at)
            .await,
        Ok(true)
    );
    let routes = [("*", "do", None, second)];
    let both = stage.source(&routes).await;
    let accepted = stage.deliver(&both, "2", "a", "{}").await.expect(202);
    assert_eq!(accepted["deliveries"][0]["webhook_id"], second.to_string());
    let gone = stage.deliver(&source, "3", "a", "{}").await.expect(202);
    assert_eq!(gone["deliveries"], json!([]));
    let repeated = stage.deliver(&source, "1", "a", "{}").await.expect(200);
    assert_eq!(repeated["deliveries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_old_secret_is_valid_for_a_day_after_a_rotation() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let rotate = stage
        .gateway
        .sources
        .rotate_secret(&source.tenant, source.id, "next");
    rotate.await.unwrap();
    stage.deliver(&source, "old", "a", "{}").await.expect(202);
    let signature = sign("next", b"{}");
    let next = [("x-webhook-signature", signature.as_str())];
    let id = source.id.to_string();
    stage.post(&id, &next, b"{}").await.expect(202);
    stage.clock.advance(Millis::from_seconds(86_400));
    stage
        .deliver(&source, "late", "a", "{}")
        .await
        .problem(401, "invalid_signature");
    stage.post(&id, &next, b"{}").await.expect(202);
}

#[tokio::test]
async fn a_body_does_not_have_to_be_text() {
    let stage = Stage::new();
    let source = stage.source(&[]).await;
    let body = b"\xff\xfe\x00";
    let signature = sign(crate::stage::SECRET, body);
    let headers = [("x-webhook-signature", signature.as_str())];
    let accepted = stage
        .post(&source.id.to_string(), &headers, body)
        .await
        .expect(202);
    let event = stage.event(&accepted).await;
    assert_eq!(
        (&event.body[..], event.event_type.as_str()),
        (&body[..], "unknown")
    );
    assert_eq!(event.content_type.as_str(), "application/octet-stream");
}
