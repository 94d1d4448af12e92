//! Small versions of the simulations; `make simulate` runs ten million rows and ten thousand deliveries.

use postrider_domain::time::Millis;
use postrider_tests::simulation::{Scenario, a_day_down, simulate};

#[test]
fn messages_of_waiting_rows_are_on_time_even_with_late_ticks() {
    for shards in [16, 64] {
        let outcome = simulate(Scenario {
            rows: 200_000,
            shards,
            minutes: 60,
        });
        assert!(outcome.p99 <= Millis::from_seconds(2), "{outcome}");
        assert!(outcome.max <= Millis::from_seconds(2), "{outcome}");
        assert_eq!((outcome.forgotten, outcome.doubled), (0, 0), "{outcome}");
    }
}

#[tokio::test]
async fn a_receiver_that_was_down_for_a_day_is_resumed_slowly_and_loses_nothing() {
    let recovery = a_day_down(1000, 20).await;
    assert_eq!(recovery.waiting, 1000, "{recovery}");
    assert_eq!(
        recovery.given_up, 1,
        "the one that failed the webhook: {recovery}"
    );
    assert_eq!(
        (recovery.delivered, recovery.doubled),
        (1000, 0),
        "{recovery}"
    );
    assert!(
        recovery.first_second <= 2,
        "it starts at the slowest rate: {recovery}"
    );
    // At the retry rate alone it would take 50 seconds.
    assert!(recovery.took <= Millis::from_seconds(30), "{recovery}");
}
