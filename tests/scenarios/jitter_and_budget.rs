use postrider_domain::delivery::Status;
use postrider_domain::retry::{Profile, RetryBudget, RetrySettings, RuntimeRetry};
use postrider_domain::time::Millis;
use postrider_gateway::settings::WorkerSettings;
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::Answer;

use super::world::World;
use crate::command;

fn runtime(jitter_bps: Option<u16>, budget: u32) -> RuntimeRetry {
    RuntimeRetry {
        jitter_bps,
        budget: RetryBudget(budget),
    }
}

async fn failing(retry: RuntimeRetry) -> World {
    let world = World::with_retry(retry).await;
    world.receiver.answer(Answer::status(500));
    world
}

#[tokio::test]
async fn fr_001_ac1_jitter_is_configured_in_basis_points_from_0_to_10000() {
    for name in [
        "POSTRIDER_RETRY_JITTER_BPS",
        "PAYMENT_REQUEST_WEBHOOK_RETRY_JITTER_BPS",
    ] {
        for good in ["0", "10000"] {
            command::Serve::start(&[(name, good)]).await;
        }
        for bad in ["10001", "-1", "ten"] {
            let message = command::refused_start(&[(name, bad)]).await;
            assert!(
                message.contains(name) && message.contains("0 to 10000"),
                "{message}"
            );
        }
    }
}

#[tokio::test]
async fn fr_001_ac2_without_jitter_the_backoff_is_the_exact_schedule() {
    let world = failing(runtime(Some(0), 0)).await;
    let retry = RetrySettings {
        profile: Profile::PublicApi,
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await;
    let id = world.publish(webhook.id).await;
    assert_eq!(
        world.exhaust(id).await,
        [5_000, 25_000, 125_000, 625_000, 3_125_000]
    );
}

#[tokio::test]
async fn fr_001_ac3_with_jitter_each_wait_lies_within_its_window_and_is_clamped() {
    let world = failing(runtime(Some(2500), 0)).await;
    let retry = RetrySettings {
        max_backoff_seconds: Some(650),
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await;
    let id = world.publish(webhook.id).await;
    let waits = world.exhaust(id).await;
    for (wait, base) in waits.iter().zip([30_000, 120_000, 600_000, 3_600_000]) {
        let window = (base * 3 / 4).min(650_000)..=(base * 5 / 4).min(650_000);
        assert!(window.contains(wait), "{wait} in {window:?}");
    }
    assert_ne!(
        waits[..2],
        [30_000, 120_000],
        "the waits differ from the schedule"
    );
    assert_eq!(waits[3], 650_000, "clamped to max_backoff");
}

#[tokio::test]
async fn nfr_002_a_thousand_rows_that_fail_in_the_same_second_are_spread() {
    const ROWS: usize = 100;
    let world = World::with(WorkerSettings {
        per_webhook: ROWS,
        // One webhook gets at most an eighth of the free slots.
        total: 10 * ROWS,
        retry: runtime(Some(2000), 0),
        ..WorkerSettings::default()
    })
    .await;
    world.receiver.answer(Answer::status(500));
    let mut waits = Vec::new();
    // The clock stands still, so all of them fail in the same second.
    for webhook in 0..10 {
        let id = world.webhook(RetrySettings::default()).await.id;
        world.receiver.hold();
        let mut rows = Vec::new();
        for _ in 0..ROWS {
            rows.push(world.post(id).await);
        }
        world.receiver.received((webhook + 1) * ROWS).await;
        world.receiver.open();
        world.idle().await;
        for row in rows {
            let row = world.row(row).await;
            assert_eq!((row.status, row.attempt_count), (Status::Failed, 1));
            waits.push(row.next_retry_at.unwrap().since(world.clock.now()));
        }
    }
    assert_eq!(waits.len(), 1000);
    let mut tenths = [0usize; 10];
    for wait in waits {
        let window = Millis::new(24_000)..=Millis::new(36_000);
        assert!(window.contains(&wait), "{wait} in {window:?}");
        tenths[usize::try_from((wait.get() - 24_000) * 10 / 12_001).unwrap()] += 1;
    }
    for (n, count) in tenths.iter().enumerate() {
        let from = 24.0 + 1.2 * f64::from(u8::try_from(n).unwrap());
        println!(
            "{from:5.1} s – {:5.1} s {count:4} {}",
            from + 1.2,
            "#".repeat(count / 4)
        );
    }
    assert!(
        tenths.iter().all(|count| (50..=200).contains(count)),
        "{tenths:?}"
    );
}

#[tokio::test]
async fn fr_002_ac1_the_budget_is_a_non_negative_integer() {
    for name in [
        "POSTRIDER_RETRY_BUDGET",
        "PAYMENT_REQUEST_WEBHOOK_RETRY_BUDGET",
    ] {
        for bad in ["-1", "1.5", "many"] {
            let message = command::refused_start(&[(name, bad)]).await;
            assert!(message.contains(name), "{message}");
        }
    }
}

#[tokio::test]
async fn fr_002_ac2_a_budget_of_0_is_off() {
    let world = failing(runtime(None, 0)).await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    world.exhaust(id).await;
    let row = world.row(id).await;
    assert_eq!((row.attempt_count, row.max_attempts), (5, 5));
}

#[tokio::test]
async fn fr_002_ac3_a_budget_lowers_the_effective_maximum() {
    let world = failing(runtime(None, 2)).await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    world.exhaust(id).await;
    let row = world.row(id).await;
    assert_eq!(
        (row.status, row.attempt_count, row.max_attempts),
        (Status::Dead, 3, 5)
    );
}

#[tokio::test]
async fn fr_003_ac1_with_jitter_and_budget_a_2xx_response_still_delivers() {
    let world = World::with_retry(runtime(Some(10_000), 1)).await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let row = world.row(world.publish(webhook.id).await).await;
    assert_eq!((row.status, row.attempt_count), (Status::Delivered, 1));
}

#[tokio::test]
async fn fr_003_ac2_under_the_limit_a_failed_attempt_is_marked_for_retry() {
    let world = failing(runtime(Some(1000), 3)).await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let row = world.row(world.publish(webhook.id).await).await;
    let wait = row.next_retry_at.unwrap().since(world.clock.now());
    assert_eq!(row.status, Status::Failed);
    assert!(
        (Millis::new(27_000)..=Millis::new(33_000)).contains(&wait),
        "{wait}"
    );
}

#[tokio::test]
async fn fr_003_ac3_at_the_limit_a_failed_attempt_is_final() {
    let world = failing(runtime(None, 1)).await;
    let webhook = world.webhook(RetrySettings::default()).await;
    let id = world.publish(webhook.id).await;
    world.next_attempt(id).await;
    let row = world.row(id).await;
    assert_eq!((row.status, row.next_retry_at), (Status::Dead, None));
}

#[tokio::test]
async fn fr_004_ac1_settings_reach_the_decision() {
    let gateway = command::Serve::start(&[
        ("POSTRIDER_RETRY_BUDGET", "1"),
        ("POSTRIDER_RETRY_JITTER_BPS", "0"),
        ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32"),
    ])
    .await;
    let receiver = postrider_testkit::receiver::Receiver::start().await;
    receiver.answer(Answer::status(500));
    let retry = serde_json::json!({"profile": "custom", "delays_seconds": [1, 1, 1]});
    let webhook = gateway.webhook(&receiver.url(), &retry).await;
    let delivery = gateway.publish(&webhook, "{}").await;
    let row = gateway.settled(&delivery).await;
    assert_eq!(
        (&row["status"], &row["attempt_count"]),
        (&"dead".into(), &2.into()),
        "{row}"
    );
    assert_eq!(row["max_attempts"], 4);
}
