use postrider_domain::ids::TenantId;
use postrider_domain::key_stats::KeyStat;
use postrider_domain::retry::{Profile, RetrySettings};
use postrider_domain::time::Millis;
use postrider_gateway::stats::{CountedStats, Window, report};
use postrider_ports::clock::Clock;
use postrider_testkit::receiver::Answer;

use super::world::World;

const DAY: Millis = Millis::from_seconds(86_400);

async fn counted(world: &World) -> CountedStats {
    let window = Window::last(DAY, world.clock.now());
    let tenant = TenantId::default();
    let report = report(&world.gateway().ports, &tenant, None, window).await;
    report.unwrap().total
}

/// The value of a key stat, and whether it alerts.
async fn shown(world: &World, key_stat: KeyStat) -> Option<(f64, bool)> {
    let value = counted(world).await.value(key_stat)?;
    Some((value, key_stat.alerts_at(value)))
}

#[tokio::test]
async fn a_delivery_that_succeeds_after_retries_counts_as_a_success_and_as_retried() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    world.receiver.answer(Answer::status(503));
    let id = world.publish(webhook.id).await;
    assert_eq!(shown(&world, KeyStat::SuccessRate).await, None);
    world.receiver.answer(Answer::status(200));
    world.next_attempt(id).await;
    assert_eq!(
        shown(&world, KeyStat::SuccessRate).await,
        Some((100.0, false))
    );
    assert_eq!(shown(&world, KeyStat::RetryRate).await, Some((100.0, true)));
    assert_eq!(shown(&world, KeyStat::AvgRetries).await, Some((1.0, false)));
    let (latency, alerts) = shown(&world, KeyStat::P95Latency).await.unwrap();
    assert!(
        (15.0..=30.0).contains(&latency) && alerts,
        "30 s fall into the bucket from 15 to 30 s: {latency}"
    );
}

#[tokio::test]
async fn dead_deliveries_lower_the_success_rate() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    for _ in 0..18 {
        world.publish(webhook.id).await;
    }
    world.receiver.answer(Answer::status(500));
    let dies = world.publish(webhook.id).await;
    world.exhaust(dies).await;
    let (rate, alerts) = shown(&world, KeyStat::SuccessRate).await.unwrap();
    assert!((rate - 1800.0 / 19.0).abs() < 1e-9 && alerts, "{rate}");
    world.receiver.answer(Answer::status(200));
    world.publish(webhook.id).await;
    assert_eq!(
        shown(&world, KeyStat::SuccessRate).await,
        Some((95.0, false)),
        "the threshold itself"
    );
}

#[tokio::test]
async fn a_webhook_counts_as_failed_until_it_is_resumed() {
    let world = World::new().await;
    let retry = RetrySettings {
        profile: Profile::PublicApi,
        ..RetrySettings::default()
    };
    let webhook = world.webhook(retry).await;
    assert_eq!(counted(&world).await.failed_webhooks, 0);
    world.receiver.answer(Answer::status(500));
    let id = world.publish(webhook.id).await;
    world.exhaust(id).await;
    assert_eq!(
        shown(&world, KeyStat::FailedCount).await,
        Some((1.0, false))
    );
    let manage = &world.gateway().manage;
    manage
        .resume(&TenantId::default(), webhook.id)
        .await
        .unwrap();
    assert_eq!(
        shown(&world, KeyStat::FailedCount).await,
        Some((0.0, false))
    );
}

#[tokio::test]
async fn deliveries_before_the_window_are_not_counted() {
    let world = World::new().await;
    let webhook = world.webhook(RetrySettings::default()).await;
    world.publish(webhook.id).await;
    assert_eq!(counted(&world).await.tally.delivered, 1);
    world.clock.advance(DAY);
    world.clock.advance(Millis::from_seconds(3600));
    let later = counted(&world).await;
    for key_stat in KeyStat::ALL {
        let expected = (key_stat == KeyStat::FailedCount).then_some(0.0);
        assert_eq!(later.value(key_stat), expected, "{key_stat:?}");
    }
}
