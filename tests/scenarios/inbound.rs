//! `features/inbound.feature`.

use bytes::Bytes;
use http::HeaderMap;
use postrider_domain::diagnosis::Finding;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::inbound::Inbound;
use postrider_domain::retry::RetrySettings;
use postrider_domain::route::RouteDraft;
use postrider_domain::secret::SigningSecret;
use postrider_domain::signature;
use postrider_domain::source::{Source, SourceDraft};
use postrider_domain::time::Millis;
use postrider_gateway::GatewayError;
use postrider_gateway::ingest::{Published, Repeated};
use postrider_gateway::receive::Received;
use postrider_ports::history::Filter;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::Value;

use super::world::World;

pub(super) const BODY: &str = "{ \"action\" : \"opened\" }";

fn secret() -> SigningSecret {
    SigningSecret::from_key(&[5; 32])
}

fn route(event_type: &str, intent: &str, webhook_id: WebhookId) -> RouteDraft {
    RouteDraft {
        event_type: event_type.to_owned(),
        filter: None,
        intent: intent.to_owned(),
        target_session: Some("reviewer-cluster".to_owned()),
        webhook_id: webhook_id.to_string(),
    }
}

pub(super) async fn source(world: &World, routes: Vec<RouteDraft>) -> Source {
    let draft = SourceDraft {
        name: "Forge".to_owned(),
        scheme: "postrider".to_owned(),
        routes,
        ..SourceDraft::default()
    };
    let (sources, tenant) = (&world.gateway().sources, TenantId::default());
    let made = sources.create(&tenant, draft, secret().expose()).await;
    made.unwrap()
}

/// A signed `pull_request.opened`, whose body is then replaced by `sent`.
pub(super) async fn send(
    world: &World,
    source: &Source,
    id: &str,
    sent: &str,
) -> Result<Published, GatewayError> {
    let mut headers = HeaderMap::new();
    let signature = signature::plain(&secret(), BODY.as_bytes());
    headers.insert("x-observatory-signature", signature.parse().unwrap());
    headers.insert("x-webhook-event", "pull_request.opened".parse().unwrap());
    headers.insert("webhook-id", id.parse().unwrap());
    headers.insert("content-type", "application/json".parse().unwrap());
    let inbound = Inbound::post(headers, Bytes::copy_from_slice(sent.as_bytes()));
    let to = source.id.to_string();
    let received = world.gateway().receive.receive(&to, inbound, || ()).await;
    world.idle().await;
    match received? {
        Received::Stored(published) => Ok(published),
        Received::Answered(reply) => panic!("no handshake: {reply:?}"),
    }
}

#[tokio::test]
async fn a_signed_request_is_routed_to_the_receiver() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let routes = vec![route("pull_request.*", "code_review", webhook.id)];
    let source = source(&world, routes).await;
    let published = send(&world, &source, "1", BODY).await.unwrap();
    assert_eq!(published.deliveries.len(), 1);
    let received = world.receiver.requests();
    let request = &received[0];
    assert_eq!(request.body, BODY);
    assert_eq!(request.header("x-webhook-intent"), "code_review");
    assert_eq!(request.header("x-webhook-session"), "reviewer-cluster");
    assert_eq!(request.header("x-webhook-event"), "pull_request.opened");
    let id = published.deliveries[0].to_string();
    assert_eq!(request.header("webhook-id"), id);
}

#[tokio::test]
async fn a_forged_request_is_rejected_and_not_delivered() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let source = source(&world, vec![route("*", "do", webhook.id)]).await;
    let refused = send(&world, &source, "1", "{ \"action\" : \"closed\" }").await;
    assert!(
        matches!(refused, Err(GatewayError::Unverified)),
        "{refused:?}"
    );
    let tenant = TenantId::default();
    let rows = world
        .store()
        .list(&tenant, &Filter::default(), 10, None)
        .await;
    assert_eq!(rows.unwrap().items, []);
    assert!(world.receiver.requests().is_empty());
}

#[tokio::test]
async fn a_repeated_inbound_delivery_returns_the_first_ids() {
    let mut world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let source = source(&world, vec![route("*", "do", webhook.id)]).await;
    let first = send(&world, &source, "1", BODY).await.unwrap();
    world.restart().await;
    let again = send(&world, &source, "1", BODY).await.unwrap();
    assert_eq!(
        (first.repeated, again.repeated),
        (Repeated::No, Repeated::Yes)
    );
    assert_eq!(
        (first.event, first.deliveries),
        (again.event, again.deliveries)
    );
    world.cycle().await;
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn each_webhook_gets_an_event_once_by_its_first_matching_route() {
    let world = World::new().await;
    let other = Receiver::start().await;
    other.answer(Answer::status(204));
    let first = world.webhook(RetrySettings::default()).await;
    let second = world
        .webhook_at(&other.url(), RetrySettings::default())
        .await;
    let routes = vec![
        route("pull_request.*", "code_review", first.id),
        route("*", "archive", first.id),
        route("**", "archive", second.id),
    ];
    let source = source(&world, routes).await;
    let published = send(&world, &source, "1", BODY).await.unwrap();
    let webhooks: Vec<_> = published.deliveries.iter().map(|id| id.webhook).collect();
    assert_eq!(webhooks, [first.id, second.id]);
    for (receiver, intent) in [(&world.receiver, "code_review"), (&other, "archive")] {
        let received = receiver.requests();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].header("x-webhook-intent"), intent);
    }
}

#[tokio::test]
async fn a_route_with_a_filter_takes_only_the_events_that_it_matches() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let filtered = |action: &str, intent: &str| RouteDraft {
        filter: Some(serde_json::json!({ "action": [action] })),
        ..route("pull_request.*", intent, webhook.id)
    };
    let routes = vec![filtered("closed", "archive"), filtered("opened", "review")];
    let source = source(&world, routes).await;
    let published = send(&world, &source, "1", BODY).await.unwrap();
    assert_eq!(published.deliveries.len(), 1);
    let received = world.receiver.requests();
    assert_eq!(received[0].header("x-webhook-intent"), "review");
    assert_eq!(received[0].body, BODY);
}

#[tokio::test]
async fn a_rejected_request_shows_what_would_have_matched() {
    let world = World::new().await;
    let source = source(&world, Vec::new()).await;
    let sources = &world.gateway().sources;
    let rotated = sources.rotate_secret(&source.tenant, source.id, "the next secret");
    rotated.await.unwrap();
    world.clock.advance(Millis::from_seconds(2 * 86_400));
    let refused = send(&world, &source, "1", BODY).await;
    assert!(
        matches!(refused, Err(GatewayError::Unverified)),
        "{refused:?}"
    );
    let announced = world.notifications().await;
    let [failed] = announced.as_slice() else {
        panic!("{announced:?}");
    };
    assert_eq!(failed.kind, "inbound.signature_failed");
    let event: Value = serde_json::from_str(&failed.event).unwrap();
    let data = &event["data"];
    assert_eq!(data["name"], "WebhookSignatureFailureEvent");
    assert_eq!(data["reason"], "no_match");
    for held in ["opened", "sha256", "secret"] {
        assert!(!failed.event.contains(held), "{}", failed.event);
    }
    let id = data["refused_id"].as_str().unwrap().parse().unwrap();
    let rejected = &world.gateway().rejected;
    let diagnosed = rejected.diagnose(&source.tenant, source.id, id).await;
    let diagnosed = diagnosed.unwrap();
    assert_eq!(diagnosed.findings, [Finding::OldSecret]);
    assert_eq!(diagnosed.kept.rejected.request.body, BODY);
}

#[tokio::test]
async fn an_event_without_a_matching_route_triggers_a_notification() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let other = source(&world, vec![route("push", "build", webhook.id)]).await;
    let unwanted = send(&world, &other, "1", BODY).await.unwrap();
    assert_eq!(unwanted.deliveries, []);
    let routed = source(&world, vec![route("*", "do", webhook.id)]).await;
    let wanted = send(&world, &routed, "1", BODY).await.unwrap();
    send(&world, &routed, "1", BODY).await.unwrap();
    let announced = world.notifications().await;
    let told = |kind: &str| {
        let told = announced.iter().filter(|one| one.kind == kind);
        let events = told.map(|one| serde_json::from_str::<Value>(&one.event).unwrap());
        let ids = events.map(|event| event["data"]["event_id"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(told("inbound.unrouted"), [unwanted.event.to_string()]);
    assert_eq!(told("inbound.accepted"), [wanted.event.to_string()]);
}
