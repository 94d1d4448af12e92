use bytes::Bytes;
use postrider_domain::delivery::{DeadCause, Force, Status};
use postrider_domain::event::Origin;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::outcome::{FailureKind, Phase};
use postrider_domain::shadow::ShadowDraft;
use postrider_domain::signature;
use postrider_domain::template::TemplateDraft;
use postrider_domain::time::Millis;
use postrider_domain::webhook::{Webhook, WebhookDraft};
use postrider_gateway::GatewayError;
use postrider_gateway::ingest::EventDraft;
use postrider_gateway::template_preview::{try_on_last_event, webhook_facts};
use postrider_testkit::receiver::{Answer, Receiver};

use super::world::World;

fn template(body: &str) -> TemplateDraft {
    TemplateDraft {
        body: body.to_owned(),
        ..TemplateDraft::default()
    }
}

fn hook(world: &World, template: Option<TemplateDraft>) -> WebhookDraft {
    WebhookDraft {
        name: "Chat".to_owned(),
        target_url: world.receiver.url(),
        event_types: vec!["order.*".to_owned()],
        template,
        ..WebhookDraft::default()
    }
}

async fn webhook(world: &World, template: TemplateDraft) -> Webhook {
    world.create(hook(world, Some(template))).await
}

/// Publishes an order to one webhook.
async fn publish(world: &World, webhook: WebhookId, body: &'static str) -> DeliveryId {
    let draft = EventDraft {
        event_type: "order.paid".to_owned(),
        body: Bytes::from_static(body.as_bytes()),
        content_type: "application/json".to_owned(),
        session_id: Some("s-1".to_owned()),
        webhook_id: Some(webhook.to_string()),
        origin: Origin::Api,
    };
    let (ingest, tenant) = (&world.gateway().ingest, TenantId::default());
    let published = ingest.publish(&tenant, draft, None).await.unwrap();
    world.idle().await;
    published.deliveries[0]
}

async fn change(world: &World, id: WebhookId, template: TemplateDraft) {
    let edit = |draft| WebhookDraft {
        template: Some(template.clone()),
        ..draft
    };
    let manage = &world.gateway().manage;
    manage.change(&TenantId::default(), id, edit).await.unwrap();
}

#[tokio::test]
async fn a_template_is_rendered_at_the_attempt_and_signed_as_sent() {
    let world = World::new().await;
    let draft = TemplateDraft {
        body: "{{ webhook.name }}: {{ payload.total }} {{ event.type }} {{ event.session_id }}"
            .to_owned(),
        content_type: Some("text/plain; charset=utf-8".to_owned()),
        query: Some("to={{ payload.to }}".to_owned()),
    };
    let chat = webhook(&world, draft).await;
    let plain = world.create(hook(&world, None)).await;
    let body = "{ \"total\":  12.50, \"to\": \"a&b\" }";
    publish(&world, chat.id, body).await;
    publish(&world, plain.id, body).await;
    let received = world.receiver.requests();
    let [rendered, as_it_came] = received.as_slice() else {
        panic!("{received:?}");
    };
    assert_eq!(rendered.body, "Chat: 12.5 order.paid s-1");
    assert_eq!(rendered.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(rendered.query.as_deref(), Some("to=a%26b"));
    let signed = signature::plain(&chat.secrets.current, &rendered.body);
    assert_eq!(rendered.header("x-webhook-signature"), signed);
    assert_eq!(as_it_came.body, body);
    assert_eq!(as_it_came.query, None);
}

#[tokio::test]
async fn a_template_that_cannot_be_rendered_ends_the_delivery_and_not_the_webhook() {
    let world = World::new().await;
    let id = webhook(
        &world,
        template("{\"name\":\n  {{ payload.customer.name }}}"),
    )
    .await
    .id;
    let mut last = None;
    for body in ["{}", "{\"total\": 1}", "not JSON", "{\"a\": 1}"] {
        let delivery = publish(&world, id, body).await;
        let row = world.row(delivery).await;
        let end = (row.status, row.dead_cause, row.attempt_count);
        assert_eq!(
            end,
            (Status::Dead, Some(DeadCause::Unrendered), 1),
            "{body}"
        );
        last = Some(delivery);
    }
    assert_eq!(world.receiver.requests().len(), 0);
    let last = last.unwrap();
    let attempts = world.store().attempts(&TenantId::default(), last).await;
    let attempt = attempts.unwrap().pop().unwrap();
    let failed = (attempt.kind, attempt.phase);
    assert_eq!(failed, (Some(FailureKind::Template), Some(Phase::Render)));
    let error = attempt.error.unwrap();
    assert!(error.starts_with("template error: line 2: "), "{error}");
    let health = world.hook(id).await.health;
    assert_eq!(
        (health.status, health.failure_count),
        (WebhookStatus::Active, 0)
    );
    assert!(health.last_failure.is_none());

    change(
        &world,
        id,
        template(
            "{\"name\": {{ payload.customer.name | default(0) if payload.customer else none }}}",
        ),
    )
    .await;
    let retries = &world.gateway().retries;
    retries
        .retry_now(&TenantId::default(), last, Force::No)
        .await
        .unwrap();
    world.pass(Millis::from_seconds(60)).await;
    assert_eq!(world.row(last).await.status, Status::Delivered);
    assert_eq!(world.receiver.requests()[0].body, "{\"name\": null}");
}

#[tokio::test]
async fn a_retry_is_rendered_with_the_template_of_its_time() {
    let world = World::new().await;
    let id = webhook(&world, template("{\"old\": {{ payload.n }}}"))
        .await
        .id;
    world.receiver.answer_next([Answer::status(500)]);
    let delivery = publish(&world, id, "{\"n\": 7}").await;
    change(&world, id, template("{\"new\": {{ payload.n }}}")).await;
    world.pass(world.next_attempt(delivery).await).await;
    let received = world.receiver.requests();
    let bodies: Vec<_> = received.iter().map(|request| &request.body).collect();
    assert_eq!(bodies, ["{\"old\": 7}", "{\"new\": 7}"]);
}

#[tokio::test]
async fn a_template_that_does_not_compile_is_refused() {
    let world = World::new().await;
    let draft = hook(&world, Some(template("{\n{% for x %}")));
    let manage = &world.gateway().manage;
    let refused = manage.create(&TenantId::default(), draft, None).await;
    let Err(GatewayError::Invalid(errors)) = refused else {
        panic!("{refused:?}");
    };
    let error = errors.into_fields().remove(0);
    assert_eq!(error.field, "template.body");
    assert!(error.message.starts_with("line 2: "), "{}", error.message);
}

#[tokio::test]
async fn a_shadow_request_and_a_test_event_send_what_the_template_renders() {
    let world = World::new().await;
    let draft = TemplateDraft {
        query: Some("n={{ payload.n }}".to_owned()),
        ..template("{\"type\": {{ event.type }}}")
    };
    let id = webhook(&world, draft).await.id;
    let delivery = publish(&world, id, "{\"n\": 7}").await;
    let other = Receiver::start().await;
    let shadow = ShadowDraft {
        url: other.url(),
        ..ShadowDraft::default()
    };
    let tenant = TenantId::default();
    let shadowed = world.shadows().send(&tenant, delivery, shadow).await;
    assert_eq!(shadowed.unwrap().request.body_bytes, 22);
    let received = other.requests();
    assert_eq!(received[0].body, "{\"type\": \"order.paid\"}");
    assert_eq!(received[0].query.as_deref(), Some("n=7"));

    let tested = world.gateway().send_test(&tenant, id).await;
    world.idle().await;
    assert_eq!(tested.unwrap().deliveries.len(), 1);
    let tested = world.receiver.requests().pop().unwrap();
    assert_eq!(tested.body, "{\"type\": \"postrider.test\"}");
}

#[tokio::test]
async fn a_template_is_tried_on_the_last_event_before_it_is_saved() {
    let world = World::new().await;
    let id = world.create(hook(&world, None)).await.id;
    publish(&world, id, "{\"n\": 1}").await;
    world.clock.advance(Millis::new(1));
    let last = publish(&world, id, "{\"n\": 2}").await;
    let (store, tenant) = (world.store(), TenantId::default());
    let tried = async |body: &str, pattern: &str| {
        let template = template(body).check("template").unwrap();
        let types = [pattern.parse().unwrap()];
        let webhook = webhook_facts(Some((id, "Chat")));
        try_on_last_event(store, &tenant, &types, &template, webhook)
            .await
            .unwrap()
    };
    let found = tried(
        "{\"n\": {{ payload.n }}, \"in\": {{ webhook.name }}}",
        "order.*",
    )
    .await;
    let found = found.unwrap();
    assert_eq!(found.event, last.event);
    assert_eq!(found.result.unwrap().body, "{\"n\": 2, \"in\": \"Chat\"}");
    let failed = tried("{{ payload.a.b }}", "order.*").await.unwrap().result;
    assert_eq!(failed.unwrap_err().line, Some(1));
    assert!(tried("{}", "invoice.*").await.is_none());
}
