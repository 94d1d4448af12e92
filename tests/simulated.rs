//! Small versions of the simulations; `make simulate` runs ten million rows and ten thousand deliveries.

use postrider_domain::time::Millis;
use postrider_tests::simulation::{
    Scenario, a_day_down, retries_and_a_stall, retries_at_once, retries_in_a_late_queue, simulate,
};

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

#[tokio::test]
async fn a_rate_limited_retry_is_moved_once_and_its_message_is_not_sent_repeatedly() {
    let turns = retries_at_once(1000, 5).await;
    assert_eq!(turns.delivered, 1000, "{turns}");
    assert!(
        turns.most_messages <= 2,
        "its own, and one for its turn: {turns}"
    );
    assert_eq!(turns.needless, 0, "{turns}");
    // At the rate alone it takes 200 seconds; rows that were set aside wait for the poller's next minute.
    assert!(turns.took <= Millis::from_seconds(320), "{turns}");
}

/// Their turns have passed by then; together they would be more than a thousand requests.
#[tokio::test]
async fn after_a_stall_of_the_dispatchers_missed_retries_do_not_go_out_at_once() {
    let turns = retries_and_a_stall(2000, 5, Millis::from_seconds(900)).await;
    assert_eq!(turns.delivered, 2000, "{turns}");
    // Late turns of up to half a minute still count, in addition to those of this second.
    assert!(turns.most_in_a_second <= 31 * 5, "{turns}");
    // Messages of the poller for overdue rows; otherwise its own, one for its turn, and one or two for a later turn.
    assert!(turns.most_messages <= 16, "{turns}");
}

/// Every turn is then so late that it does not count the first time.
#[tokio::test]
async fn with_a_queue_that_is_always_late_everything_is_still_sent() {
    for lag in [35, 120] {
        let turns = retries_in_a_late_queue(2000, 5, Millis::from_seconds(lag)).await;
        assert_eq!(turns.delivered, 2000, "{lag} s: {turns}");
        // The rate alone takes 400 seconds. The first turns are lost, and rows set aside wait for a tick.
        assert!(
            turns.took <= Millis::from_seconds(30 * 60),
            "{lag} s: {turns}"
        );
        // Messages of the poller for overdue rows; otherwise its own, and one per turn.
        assert!(turns.most_messages <= 16, "{lag} s: {turns}");
    }
}
