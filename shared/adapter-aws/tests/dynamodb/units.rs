//! The cost of a delivery, step by step.

use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::event::Label;
use postrider_domain::pace::{Asked, Signal};
use postrider_testkit::builders::{NOW, after};

use crate::support::Metered;

/// The body size of a small event.
const SMALL: usize = 100;

#[tokio::test]
async fn a_small_event_delivered_at_once_costs_eight_units_and_nine_with_a_session() {
    let metered = Metered::start().await;
    let session: Label = "session-of-an-agent-0042".parse().unwrap();
    for (session, bar) in [(None, 8.0), (Some(session), 9.0)] {
        let (id, accepted) = metered.accept(session, SMALL).await;
        let (claimed, claim) = metered.claim(id, NOW).await;
        let applied = metered.apply(&claimed, Transition::Deliver, NOW).await;
        let all = accepted.writes + claim.writes + applied.writes;
        println!(
            "accept {} + claim {} + apply {} = {all} write units (bar {bar})",
            accepted.writes, claim.writes, applied.writes
        );
        assert!(all <= bar, "{all} units");
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
async fn a_first_failure_costs_eight_units_more_and_each_further_one_six() {
    let metered = Metered::start().await;
    let session: Label = "session-of-an-agent-0042".parse().unwrap();
    let (id, _) = metered.accept(Some(session), SMALL).await;
    for n in 0..4 {
        let retry = Transition::Retry {
            next_retry_at: after(60 * (n + 1)),
        };
        let spent = metered.attempt(id, retry, after(60 * n)).await;
        println!("failure {}: {spent} write units", n + 1);
        assert!(spent <= if n == 0 { 8.0 } else { 6.0 }, "{spent} units");
    }
    let die = Transition::Die {
        cause: DeadCause::Exhausted,
    };
    let spent = metered.attempt(id, die, after(240)).await;
    println!("the last failure: {spent} write units");
    assert!(spent <= 6.0, "{spent} units");
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
async fn at_the_full_rate_the_pace_is_not_written_and_a_change_costs_one_unit() {
    let metered = Metered::start().await;
    let (scene, webhook) = (&metered.scene, metered.webhook);
    let report = async |signal, now| {
        metered.meter.take();
        let reported = scene.report(&scene.tenant, webhook, signal, 5, now);
        reported.await.unwrap();
        metered.meter.take().writes
    };
    assert_eq!(report(Signal::Fine, NOW).await, 0.0);
    assert_eq!(report(Signal::TooFast, NOW).await, 1.0);
    assert_eq!(
        report(Signal::TooFast, NOW).await,
        0.0,
        "in the same second"
    );
    assert_eq!(report(Signal::Fine, after(1)).await, 1.0);
    let asked = Asked {
        count: 10,
        per_second: 5,
        until: after(60),
    };
    metered.meter.take();
    let given = scene.reserve(&scene.tenant, webhook, asked, after(2)).await;
    assert_eq!(given.unwrap().turns.len(), 10);
    let reserved = metered.meter.take();
    assert_eq!((reserved.writes, reserved.reads), (1.0, 1.0));
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
