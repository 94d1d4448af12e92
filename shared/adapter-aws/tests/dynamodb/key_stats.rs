//! What the stream contributes to the key stats.

use postrider_adapter_aws::dynamodb::Record;
use postrider_domain::key_stats::KeyStat;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_finished_delivery_is_one_observation() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    scene.dead(webhook).await;
    // A delivery that will be retried is not finished yet, and neither is one that waits.
    scene.failed(webhook).await;
    scene.row(webhook).await;
    let changes = fixture.changes().await;
    let finished: Vec<_> = changes.iter().filter_map(Record::finished).collect();
    let observed = |key_stat: KeyStat| {
        let mut all: Vec<_> = finished
            .iter()
            .filter_map(|it| it.observed(key_stat))
            .collect();
        all.sort_by(f64::total_cmp);
        all
    };
    assert_eq!(observed(KeyStat::SuccessRate), [0.0, 100.0]);
    assert_eq!(observed(KeyStat::P95Latency), [0.0]);
    assert_eq!(observed(KeyStat::RetryRate), [0.0, 0.0]);
    assert_eq!(observed(KeyStat::AvgRetries), [0.0, 0.0]);
    assert_eq!(observed(KeyStat::FailedCount), Vec::<f64>::new());
}
