//! The cost of a delivery, step by step.

mod steps;

use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::event::Label;
use postrider_domain::flow::AttemptKind;
use postrider_domain::health::WebhookStatus;
use postrider_ports::drains::{DrainEnd, DrainLease, Postponed};
use postrider_testkit::builders::{NOW, after};

use crate::support::Metered;

/// The body size of a small event.
const SMALL: usize = 100;

#[tokio::test]
async fn a_small_event_delivered_at_once_costs_six_units_and_seven_with_a_session() {
    let metered = Metered::start().await;
    let session: Label = "session-of-an-agent-0042".parse().unwrap();
    for (session, bar) in [(None, 6.0), (Some(session), 7.0)] {
        let (id, accepted) = metered.accept(session, SMALL).await;
        let (claimed, claim) = metered.claim(id, NOW).await;
        let applied = metered.apply(&claimed, Transition::Deliver, NOW).await;
        let all = accepted.writes + claim.writes + applied.writes;
        println!(
            "accept {} + claim {} + apply {} = {all} write units (bar {bar})",
            accepted.writes, claim.writes, applied.writes
        );
        assert_eq!(all, bar, "{all} units");
    }
}

#[tokio::test]
async fn a_claim_touches_no_index() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept(None, SMALL).await;
    let (_, claim) = metered.claim(id, NOW).await;
    assert_eq!((claim.writes, claim.indexes.values().sum()), (1.0, 0.0));
}

#[tokio::test]
async fn each_failure_costs_five_units_and_the_last_one_seven() {
    let metered = Metered::start().await;
    let session: Label = "session-of-an-agent-0042".parse().unwrap();
    let (id, _) = metered.accept(Some(session), SMALL).await;
    for n in 0..4 {
        let retry = Transition::Retry {
            next_retry_at: after(60 * (n + 1)),
        };
        let spent = metered.attempt(id, retry, after(60 * n)).await;
        println!("failure {}: {spent} write units", n + 1);
        assert_eq!(spent, 5.0, "{spent} units");
    }
    let die = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    let spent = metered.attempt(id, die, after(240)).await;
    println!("the last failure: {spent} write units");
    assert_eq!(spent, 7.0, "{spent} units");
}

#[tokio::test]
async fn the_tenth_attempt_costs_what_the_second_did() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept(None, SMALL).await;
    let mut spent = Vec::new();
    for n in 0..10 {
        let retry = Transition::Retry {
            next_retry_at: after(60 * (n + 1)),
        };
        spent.push(metered.attempt(id, retry, after(60 * n)).await);
    }
    assert_eq!(spent[9], spent[1], "{spent:?}");
    let attempts = metered.scene.attempts(&metered.scene.tenant, id).await;
    assert_eq!(attempts.unwrap().len(), 10);
}

#[tokio::test]
async fn reading_a_row_costs_one_read_unit() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept(None, SMALL).await;
    let looked = metered.look(id).await;
    assert_eq!((looked.reads, looked.writes), (1.0, 0.0));
}

#[tokio::test]
async fn a_delivery_through_the_backlog_of_a_limited_webhook_costs_a_move_more() {
    let metered = Metered::start().await;
    let (scene, webhook) = (&metered.scene, metered.webhook);
    scene.limit(webhook, 100, NOW).await;
    let (id, accepted) = metered.accept(None, SMALL).await;
    assert_eq!(accepted.reads, 1.0, "the version: {accepted:?}");
    metered.meter.take();
    scene.postpone(id, NOW).await;
    let moved = metered.meter.take();
    let (claimed, claim) = metered.claim_from_backlog(id, NOW).await;
    let applied = metered.apply(&claimed, Transition::Deliver, NOW).await;
    let all = accepted.writes + moved.writes + claim.writes + applied.writes;
    println!(
        "accept {} + move {} + claim {} + apply {} = {all} write units",
        accepted.writes, moved.writes, claim.writes, applied.writes
    );
    assert!(all <= 10.0, "{all} units");
}

#[tokio::test]
async fn flow_control_costs_a_unit_per_write() {
    let metered = Metered::start().await;
    let (scene, webhook) = (&metered.scene, metered.webhook);
    let tenant = &scene.tenant;
    let spent = || {
        let spent = metered.meter.take();
        (spent.writes, spent.reads)
    };
    spent();
    scene.register_backlog(tenant, webhook, NOW).await.unwrap();
    println!("register: {:?}", spent());
    scene.limit(webhook, 100, NOW).await;
    assert_eq!(spent().0, 2.0, "the registration and the limiter");
    let lease = DrainLease {
        owner: "i-0123456789abcdef0:4f1c2a9e/0123456789abcdef".to_owned(),
        taken_at: NOW,
    };
    let flow = scene.take_lease(webhook, &lease).await.unwrap();
    assert_eq!(spent(), (1.0, 1.0), "the lease");
    let limiter = flow.limiter;
    let stored = scene.store_limiter(tenant, webhook, &lease, limiter.epoch, limiter);
    stored.await.unwrap();
    assert_eq!(spent(), (1.0, 0.0), "a step");
    let end = DrainEnd {
        at: NOW,
        limiter,
        seen_epoch: limiter.epoch,
        asked_for: Some(NOW),
        looked: None,
    };
    scene.end_drain(tenant, webhook, &lease, end).await.unwrap();
    assert_eq!(spent(), (1.0, 0.0), "the end of a drain");
    scene.set_status(webhook, WebhookStatus::Paused).await;
    scene.set_status(webhook, WebhookStatus::Active).await;
    spent();
    scene.flow(webhook).await;
    assert_eq!(spent(), (0.0, 1.0), "a look at the state and the flow");
}

#[tokio::test]
async fn credit_costs_one_unit_per_batch_and_the_move_of_a_fresh_row_three() {
    let metered = Metered::start().await;
    let (scene, webhook) = (&metered.scene, metered.webhook);
    let limits = postrider_testkit::builders::webhook(&scene.tenant, 1);
    let limits = limits.settings.limits();
    let (id, _) = metered.accept(None, SMALL).await;
    let seen = scene.flow(webhook).await;
    metered.meter.take();
    let taken = scene.take_credit(&scene.tenant, webhook, &seen, 10, limits, NOW);
    assert_eq!(taken.await, Ok(1));
    let spent = metered.meter.take();
    assert_eq!((spent.writes, spent.reads), (1.0, 0.0));
    let row = scene.stored(id).await;
    metered.meter.take();
    let row = Postponed {
        tenant: row.tenant.clone(),
        id,
        kind: AttemptKind::of(&row),
        next_retry_at: NOW,
    };
    for moved in scene.move_to_backlog(vec![row], NOW).await {
        moved.unwrap();
    }
    let spent = metered.meter.take();
    println!("a move: {} write units", spent.writes);
    assert!(
        spent.writes <= 3.0,
        "the row, its lane and its event: {spent:?}"
    );
}

#[tokio::test]
async fn a_renewal_costs_one_unit() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept(None, SMALL).await;
    let (claimed, _) = metered.claim(id, NOW).await;
    metered.scene.renew(&claimed, after(30)).await.unwrap();
    let renewed = metered.meter.take();
    assert_eq!((renewed.writes, renewed.indexes.values().sum()), (1.0, 0.0));
}
