//! The write units of every step, by kind and size of the body. When a step changes, run the test and paste the table that
//! it prints.

use std::fmt::Write;

use postrider_domain::decide::Transition;
use postrider_domain::delivery::{DeadCause, Force};
use postrider_domain::event::{Event, Label};
use postrider_domain::ids::{DeliveryId, EventId};
use postrider_testkit::bodies::Family;
use postrider_testkit::builders::{NOW, after};

use crate::support::Metered;

/// With a session, which is one unit of `accept`. `at once` is accept, claim and delivered together; `retried` is two
/// failures, then delivered; `dead` is the last of five failures.
const STEPS: &str = "
body              | accept claim delivered | first failure, further, delivered after, dead | at once retried
GitHub 600 B      |      5     1         1 |             4        4                3     6 |       7      19
GitHub 1 KB       |      5     1         1 |             4        4                3     6 |       7      19
GitHub 3 KB       |      5     1         1 |             4        4                3     6 |       7      19
GitHub 10 KB      |      6     1         1 |             4        4                3     7 |       8      20
Order 600 B       |      5     1         1 |             4        4                3     6 |       7      19
Order 1 KB        |      5     1         1 |             4        4                3     6 |       7      19
Order 3 KB        |      6     1         1 |             4        4                3     7 |       8      20
Order 10 KB       |      7     1         1 |             4        4                3     8 |       9      21
AgentTrace 600 B  |      5     1         1 |             4        4                3     6 |       7      19
AgentTrace 1 KB   |      5     1         1 |             4        4                3     6 |       7      19
AgentTrace 3 KB   |      6     1         1 |             4        4                3     7 |       8      20
AgentTrace 10 KB  |      7     1         1 |             4        4                3     8 |       9      21
RandomIds 600 B   |      5     1         1 |             4        4                3     6 |       7      19
RandomIds 1 KB    |      5     1         1 |             4        4                3     6 |       7      19
RandomIds 3 KB    |      6     1         1 |             4        4                3     7 |       8      20
RandomIds 10 KB   |     10     1         1 |             4        4                3    11 |      12      24
";

/// Units of the whole delivery of 1 KB of GitHub's JSON at once, for other ways to publish it.
const WAYS: &str = "
way                        | write units
without a session          |           6
with an Idempotency-Key    |           7
fan-out to ten, each       |         6.1
";

const SIZES: [(&str, usize); 4] = [
    ("600 B", 600),
    ("1 KB", 1024),
    ("3 KB", 3 * 1024),
    ("10 KB", 10 * 1024),
];

struct Steps {
    accept: f64,
    claim: f64,
    delivered: f64,
    failures: [f64; 5],
    after_failure: f64,
}

fn session() -> Option<Label> {
    Some("session-of-an-agent-0042".parse().unwrap())
}

fn retry(seconds: u64) -> Transition {
    Transition::Retry {
        next_retry_at: after(seconds),
    }
}

/// Delivers one event at once, and fails with two others.
async fn steps(metered: &Metered, family: Family, bytes: usize) -> Steps {
    let (id, accepted) = metered.accept_family(session(), family, bytes).await;
    let (claimed, claim) = metered.claim(id, NOW).await;
    let delivered = metered.apply(&claimed, Transition::Deliver, NOW).await;

    let (id, _) = metered.accept_family(session(), family, bytes).await;
    let mut failures = [0.0; 5];
    for (n, units) in (0_u64..).zip(&mut failures) {
        let cause = DeadCause::Exhausted;
        let transition = if n == 4 {
            Transition::Die { cause }
        } else {
            retry(60 * (n + 1))
        };
        let (claimed, _) = metered.claim(id, after(60 * n)).await;
        *units = metered
            .apply(&claimed, transition, after(60 * n))
            .await
            .writes;
    }

    let (id, _) = metered.accept_family(session(), family, bytes).await;
    metered.attempt(id, retry(60), NOW).await;
    let (claimed, _) = metered.claim(id, after(60)).await;
    let after_failure = metered
        .apply(&claimed, Transition::Deliver, after(60))
        .await;
    Steps {
        accept: accepted.writes,
        claim: claim.writes,
        delivered: delivered.writes,
        failures,
        after_failure: after_failure.writes,
    }
}

#[tokio::test]
async fn every_step_costs_what_the_table_says() {
    let metered = Metered::start().await;
    let mut table = STEPS.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    for family in Family::ALL {
        for (name, bytes) in SIZES {
            let Steps {
                accept,
                claim,
                delivered,
                failures,
                after_failure,
            } = steps(&metered, family, bytes).await;
            let [first, second, third, fourth, dead] = failures;
            assert_eq!((second, second), (third, fourth), "{family:?} {name}");
            let at_once = accept + claim + delivered;
            let retried = accept + 3.0 * claim + first + second + after_failure;
            let _ = writeln!(
                table,
                "{:<17} | {accept:>6} {claim:>5} {delivered:>9} | {first:>13} {second:>8} {after_failure:>16} {dead:>5} | {at_once:>7} {retried:>7}",
                format!("{family:?} {name}"),
            );
        }
    }
    println!("{table}");
    assert_eq!(table, STEPS);
}

#[tokio::test]
async fn every_way_to_publish_costs_what_the_table_says() {
    let metered = Metered::start().await;
    let scene = &metered.scene;
    let body = Family::GitHub.body(1, 1024);
    let event = || Event {
        session_id: session(),
        body: body.clone(),
        ..scene.event(NOW)
    };
    let deliver = async |id: DeliveryId| {
        let (claimed, claim) = metered.claim(id, NOW).await;
        claim.writes
            + metered
                .apply(&claimed, Transition::Deliver, NOW)
                .await
                .writes
    };
    let publish = async |event: Event, webhooks| {
        let acceptance = scene.plan(event, webhooks).await;
        metered.meter.take();
        scene.accept_new(acceptance).await;
        metered.meter.take().writes
    };
    let one = [metered.webhook];
    let to_one = |event: &Event| DeliveryId {
        event: event.id,
        webhook: metered.webhook,
    };

    let plain = Event {
        session_id: None,
        ..event()
    };
    let without_session = publish(plain.clone(), &one).await + deliver(to_one(&plain)).await;

    let keyed = Event {
        id: EventId::keyed(&scene.tenant, "key", "order-4711"),
        ..event()
    };
    let with_key = publish(keyed.clone(), &one).await + deliver(to_one(&keyed)).await;

    let mut ten = one.to_vec();
    for _ in 0..9 {
        ten.push(scene.webhook().await.id);
    }
    let fanned_out = event();
    let mut all = publish(fanned_out.clone(), &ten).await;
    for webhook in ten {
        all += deliver(DeliveryId {
            event: fanned_out.id,
            webhook,
        })
        .await;
    }
    let ways = [
        ("without a session", without_session),
        ("with an Idempotency-Key", with_key),
        ("fan-out to ten, each", all / 10.0),
    ];
    let mut table = WAYS.lines().take(2).collect::<Vec<_>>().join("\n") + "\n";
    for (way, units) in ways {
        let _ = writeln!(table, "{way:<26} | {units:>11}");
    }
    println!("{table}");
    assert_eq!(table, WAYS);
}

/// What is counted beside the steps of a delivery: see also `flow_control_costs_a_unit_per_write`.
#[tokio::test]
async fn a_retry_costs_one_unit_of_the_limiter_beside_its_own() {
    let metered = Metered::start().await;
    let (scene, webhook) = (&metered.scene, metered.webhook);
    let (id, _) = metered.accept_family(session(), Family::GitHub, 1024).await;
    metered.attempt(id, retry(60), NOW).await;
    let limits = postrider_testkit::builders::webhook(&scene.tenant, 1);
    let limits = limits.settings.limits();
    let seen = scene.flow(webhook).await;
    metered.meter.take();
    let taken = scene.take_credit(&scene.tenant, webhook, &seen, 1, limits, after(60));
    taken.await.unwrap();
    let spent = metered.meter.take();
    assert_eq!((spent.writes, spent.reads), (1.0, 0.0));
}

#[tokio::test]
async fn a_failure_costs_one_unit_of_health_and_a_success_none() {
    let metered = Metered::start().await;
    let (id, _) = metered.accept_family(session(), Family::GitHub, 1024).await;
    metered.attempt(id, retry(60), NOW).await;
    let failed = metered.follow().await;
    metered.attempt(id, Transition::Deliver, after(60)).await;
    let recovered = metered.follow().await;
    let (id, _) = metered.accept_family(session(), Family::GitHub, 1024).await;
    metered.attempt(id, Transition::Deliver, after(60)).await;
    let delivered = metered.follow().await;
    println!("{failed:?} {recovered:?} {delivered:?}");
    // The counter and the feed are written for every change; the rest is health.
    assert_eq!(failed.writes - delivered.writes, 1.0);
    assert_eq!(recovered.writes - delivered.writes, 1.0);
}

#[tokio::test]
async fn a_requeue_costs_its_event_only_if_it_expires_too_early() {
    let metered = Metered::start().await;
    let scene = &metered.scene;
    let (id, _) = metered.accept_family(session(), Family::GitHub, 1024).await;
    let cause = DeadCause::Exhausted;
    metered.attempt(id, Transition::Die { cause }, NOW).await;
    let requeue = async |id, at| {
        metered.meter.take();
        let requeued = scene.requeue(&scene.tenant, id, Force::No, at).await;
        requeued.unwrap();
        metered.meter.take().writes
    };
    let soon = requeue(id, after(60)).await;
    metered
        .attempt(id, Transition::Die { cause }, after(60))
        .await;
    let late = requeue(id, after(80 * 86_400)).await;
    assert_eq!(late - soon, 1.0);
}

#[tokio::test]
async fn a_refused_claim_of_a_large_event_reads_only_its_row() {
    let metered = Metered::start().await;
    let (id, _) = metered
        .accept_family(None, Family::RandomIds, 300 * 1024)
        .await;
    metered.claim(id, NOW).await;
    metered.meter.take();
    metered.scene.try_claim(id, NOW).await;
    let refused = metered.meter.take();
    println!("{refused:?}");
    assert!(
        refused.reads <= 2.0,
        "the webhook's state and the row: {refused:?}"
    );
}
