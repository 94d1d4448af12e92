//! `features/event_types.feature`.

use postrider_domain::event::Origin;
use postrider_domain::event_catalogue::CatalogueDraft;
use postrider_domain::ids::TenantId;
use postrider_domain::json_schema::PayloadFault;
use postrider_domain::webhook::WebhookDraft;
use postrider_gateway::GatewayError;
use postrider_gateway::ingest::{EventDraft, Published};
use postrider_gateway::settings::validation::EventValidation;
use serde_json::{Value, json};

use super::inbound;
use super::world::World;

fn orders() -> Value {
    json!({
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string"}, "total": {"type": "number", "minimum": 0}},
    })
}

async fn describe(world: &World, tenant: &TenantId, schema: Value) {
    let draft = CatalogueDraft {
        schema: Some(schema),
        ..CatalogueDraft::default()
    };
    let name = "order.paid".parse().unwrap();
    let catalogue = &world.gateway().catalogue;
    catalogue.put(tenant, name, draft).await.unwrap();
}

async fn publish_as(
    world: &World,
    tenant: &TenantId,
    event_type: &str,
    payload: &Value,
    key: Option<&str>,
) -> Result<Published, GatewayError> {
    let draft = EventDraft {
        event_type: event_type.to_owned(),
        body: payload.to_string().into(),
        content_type: "application/json".to_owned(),
        session_id: None,
        webhook_id: None,
        origin: Origin::Api,
    };
    world.gateway().ingest.publish(tenant, draft, key).await
}

async fn publish(world: &World, payload: &Value) -> Result<Published, GatewayError> {
    publish_as(world, &TenantId::default(), "order.paid", payload, None).await
}

fn faults(answer: Result<Published, GatewayError>) -> Vec<PayloadFault> {
    match answer {
        Err(GatewayError::SchemaMismatch(faults)) => faults,
        other => panic!("{other:?}"),
    }
}

fn webhook(world: &World, event_types: &str) -> WebhookDraft {
    WebhookDraft {
        name: "Orders".to_owned(),
        target_url: world.receiver.url(),
        event_types: vec![event_types.to_owned()],
        ..WebhookDraft::default()
    }
}

#[tokio::test]
async fn an_event_that_does_not_match_its_schema_is_rejected_with_the_place_of_each_fault() {
    let world = World::validating(EventValidation::Reject).await;
    world.create(webhook(&world, "order.*")).await;
    describe(&world, &TenantId::default(), orders()).await;
    let wrong = json!({"id": "hunter2", "total": -7777});
    let found = faults(publish(&world, &wrong).await);
    let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["/total must be at least 0"]);
    let two = faults(publish(&world, &json!({"total": "7777"})).await);
    let pointers: Vec<&str> = two.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(pointers, ["", "/total"]);
    assert!(!format!("{two:?}").contains("7777"), "{two:?}");
    world.idle().await;
    assert_eq!(world.receiver.requests().len(), 0);
    let right = json!({"id": "A-7", "total": 12.5});
    assert_eq!(publish(&world, &right).await.unwrap().deliveries.len(), 1);
    let other = publish_as(&world, &TenantId::default(), "order.lost", &json!(7), None).await;
    assert_eq!(other.unwrap().deliveries.len(), 1);
    world.idle().await;
    assert_eq!(world.receiver.requests().len(), 2);
}

#[tokio::test]
async fn with_a_warning_only_every_event_is_accepted() {
    let world = World::validating(EventValidation::Warn).await;
    world.create(webhook(&world, "order.*")).await;
    describe(&world, &TenantId::default(), orders()).await;
    let published = publish(&world, &json!({"total": "free"})).await.unwrap();
    assert_eq!(published.deliveries.len(), 1);
    world.idle().await;
    assert_eq!(world.receiver.requests().len(), 1);
}

#[tokio::test]
async fn an_event_type_of_a_tenant_takes_the_place_of_one_of_the_operator() {
    let world = World::validating(EventValidation::Reject).await;
    let (acme, other): (TenantId, TenantId) = ("acme".parse().unwrap(), "other".parse().unwrap());
    describe(&world, &TenantId::default(), orders()).await;
    describe(&world, &acme, json!({"required": ["reference"]})).await;
    let (by_id, by_reference) = (json!({"id": "A-7"}), json!({"reference": 7}));
    let publish = async |tenant: &TenantId, payload: &Value| {
        publish_as(&world, tenant, "order.paid", payload, None).await
    };
    assert!(publish(&acme, &by_reference).await.is_ok());
    assert_eq!(faults(publish(&acme, &by_id).await).len(), 1);
    assert!(publish(&other, &by_id).await.is_ok());
    assert_eq!(faults(publish(&other, &by_reference).await).len(), 1);
    // An entry without a schema takes its place, too.
    let name = "order.paid".parse().unwrap();
    let catalogue = &world.gateway().catalogue;
    let plain = CatalogueDraft::default();
    catalogue.put(&acme, name, plain).await.unwrap();
    assert!(publish(&acme, &json!(7)).await.is_ok());
}

#[tokio::test]
async fn a_corrected_schema_applies_to_the_next_event() {
    let world = World::validating(EventValidation::Reject).await;
    let (operator, acme) = (TenantId::default(), "acme".parse().unwrap());
    describe(&world, &operator, orders()).await;
    let payload = json!({"number": 7});
    for tenant in [&operator, &acme] {
        let rejected = publish_as(&world, tenant, "order.paid", &payload, None).await;
        assert_eq!(faults(rejected).len(), 1);
    }
    describe(&world, &operator, json!({"required": ["number"]})).await;
    for tenant in [&operator, &acme] {
        let accepted = publish_as(&world, tenant, "order.paid", &payload, None).await;
        assert!(accepted.is_ok(), "{accepted:?}");
        let rejected = publish_as(&world, tenant, "order.paid", &json!({}), None).await;
        assert_eq!(faults(rejected).len(), 1);
    }
    let catalogue = &world.gateway().catalogue;
    let name = "order.paid".parse().unwrap();
    catalogue.delete(&operator, &name).await.unwrap();
    for tenant in [&operator, &acme] {
        let accepted = publish_as(&world, tenant, "order.paid", &json!({}), None).await;
        assert!(accepted.is_ok(), "{accepted:?}");
    }
}

#[tokio::test]
async fn schemas_are_not_read_for_each_event() {
    let world = World::validating(EventValidation::Reject).await;
    let acme = "acme".parse().unwrap();
    describe(&world, &TenantId::default(), orders()).await;
    let wrong = json!({});
    let publish = async || publish_as(&world, &acme, "order.paid", &wrong, None).await;
    assert_eq!(faults(publish().await).len(), 1);
    let gone = world.database().execute("DELETE FROM event_types", []);
    assert_eq!(gone, Ok(1));
    assert_eq!(faults(publish().await).len(), 1);
}

#[tokio::test]
async fn a_repeated_call_gets_the_answer_of_the_first_one() {
    let world = World::validating(EventValidation::Reject).await;
    let tenant = TenantId::default();
    let payload = json!({"number": 7});
    let publish = async || publish_as(&world, &tenant, "order.paid", &payload, Some("key-1")).await;
    let first = publish().await.unwrap();
    describe(&world, &tenant, orders()).await;
    assert_eq!(publish().await.unwrap().event, first.event);
    let another = publish_as(&world, &tenant, "order.paid", &payload, Some("key-2")).await;
    assert_eq!(faults(another).len(), 1);
}

#[tokio::test]
async fn an_event_from_a_source_is_never_rejected_for_its_schema() {
    let world = World::validating(EventValidation::Reject).await;
    let (tenant, name) = (TenantId::default(), "pull_request.opened");
    let draft = CatalogueDraft {
        schema: Some(json!(false)),
        ..CatalogueDraft::default()
    };
    let put = world
        .gateway()
        .catalogue
        .put(&tenant, name.parse().unwrap(), draft);
    put.await.unwrap();
    let rejected = publish_as(&world, &tenant, name, &json!({}), None).await;
    assert_eq!(faults(rejected).len(), 1);
    let source = inbound::source(&world, Vec::new()).await;
    let published = inbound::send(&world, &source, "1", inbound::BODY)
        .await
        .unwrap();
    let stored = world.store().event(&tenant, published.event).await.unwrap();
    assert_eq!(stored.unwrap().event_type.as_str(), name);
}

#[tokio::test]
async fn an_example_is_sent_to_one_webhook_as_a_test() {
    let world = World::validating(EventValidation::Reject).await;
    let webhook = world.create(webhook(&world, "something.else")).await;
    let tenant = TenantId::default();
    let draft = CatalogueDraft {
        schema: Some(orders()),
        examples: vec![json!({"id": "A-7"}), json!({"id": 7})],
        ..CatalogueDraft::default()
    };
    let name = "order.paid".parse().unwrap();
    let gateway = world.gateway();
    let put = gateway.catalogue.put(&tenant, name, draft);
    put.await.unwrap();
    let name = "order.paid".parse().unwrap();
    for n in 0..2 {
        let sent = gateway.send_example(&tenant, webhook.id, &name, n);
        assert_eq!(sent.await.unwrap().deliveries.len(), 1);
        world.idle().await;
    }
    let received = world.receiver.requests();
    assert_eq!(received[1].body, "{\"id\":7}");
    let missing = gateway.send_example(&tenant, webhook.id, &name, 2).await;
    assert!(matches!(missing, Err(GatewayError::NotFound { .. })));
    let other = "acme".parse().unwrap();
    let foreign = gateway.send_example(&other, webhook.id, &name, 0).await;
    assert!(matches!(foreign, Err(GatewayError::NotFound { .. })));
}
