//! What the stream says of the figures.

use postrider_domain::figures::Figure;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_finished_delivery_is_one_observation() {
    let fixture = fixture().await;
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    scene.delivered(webhook).await;
    scene.dead(webhook).await;
    // One that will be retried says nothing yet, and neither does one that waits.
    scene.failed(webhook).await;
    scene.row(webhook).await;
    let changes = fixture.changes().await;
    let finished: Vec<_> = changes
        .iter()
        .filter_map(postrider_adapter_aws::dynamodb::Record::finished)
        .collect();
    let observed = |figure: Figure| {
        let mut all: Vec<_> = finished
            .iter()
            .filter_map(|it| it.observed(figure))
            .collect();
        all.sort_by(f64::total_cmp);
        all
    };
    assert_eq!(observed(Figure::SuccessRate), [0.0, 100.0]);
    assert_eq!(observed(Figure::P95Latency), [0.0]);
    assert_eq!(observed(Figure::RetryRate), [0.0, 0.0]);
    assert_eq!(observed(Figure::AvgRetries), [0.0, 0.0]);
    assert_eq!(observed(Figure::FailedCount), Vec::<f64>::new());
}
