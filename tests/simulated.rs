//! Small versions of the simulations; `make simulate` runs ten million rows and ten thousand deliveries.

use postrider_domain::time::Millis;
use postrider_tests::simulation::{
    Drained, FleetSize, Operator, OwnLimits, QueueFault, RATE, Scenario, Trouble, a_day_down,
    claim_too_late, drain_backlog, drain_first_attempts, drain_unreadable, left_by_the_poller,
    looks_for_a_round, page_too_late, recover_from_outage, share_with_hanging, simulate,
};

#[test]
fn messages_of_waiting_rows_are_on_time_even_with_late_ticks() {
    let outcome = simulate(Scenario {
        rows: 200_000,
        minutes: 60,
    });
    assert!(outcome.p99 <= Millis::from_seconds(2), "{outcome}");
    assert!(outcome.max <= Millis::from_seconds(2), "{outcome}");
    assert_eq!((outcome.forgotten, outcome.doubled), (0, 0), "{outcome}");
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

/// A healthy receiver gets everything, and never more than a tenth above the rate in any second.
fn assert_drained(drained: &Drained, trouble: Trouble) {
    let most = (RATE + RATE / 10) as usize;
    assert_eq!(drained.delivered, drained.rows, "{trouble:?}: {drained:?}");
    assert_eq!(drained.waiting, 0, "{trouble:?}: {drained:?}");
    assert!(drained.most_in_a_second <= most, "{trouble:?}: {drained:?}");
}

const PATIENCE: Millis = Millis::from_seconds(1800);

#[test]
fn a_backlog_is_drained_at_its_rate() {
    let drained = drain_backlog(400, Trouble::NONE, PATIENCE);
    assert_drained(&drained, Trouble::NONE);
    // At the rate alone it takes 20 seconds.
    assert!(drained.took <= Millis::from_seconds(30), "{drained:?}");
    assert!(drained.most_messages <= 2, "{drained:?}");
}

#[test]
fn a_max_rate_is_never_exceeded_by_more_than_a_tenth_and_is_used() {
    for max_rate in [1, 7, 50, 300] {
        let own = OwnLimits {
            max_rate: Some(max_rate),
            ..OwnLimits::default()
        };
        let rows = max_rate as usize * 30;
        let drained = drain_first_attempts(rows, own, Trouble::NONE, PATIENCE);
        // At the rate alone it takes 30 seconds.
        let took = drained.took;
        assert!(took <= Millis::from_seconds(40), "{own:?}: {drained:?}");
        for queue in [QueueFault::None, QueueFault::Doubles, QueueFault::Reorders] {
            let trouble = Trouble {
                queue,
                ..Trouble::NONE
            };
            let drained = drain_first_attempts(rows, own, trouble, PATIENCE);
            // Attempts begin a moment after their credit, so one may fall into the second before.
            let most = (max_rate + max_rate.div_ceil(10)) as usize;
            assert_eq!(drained.delivered, rows, "{own:?}: {drained:?}");
            assert!(drained.most_in_a_second <= most, "{own:?}: {drained:?}");
        }
    }
}

/// Also when one drain ends and the next begins while the receiver takes its time.
#[test]
fn a_max_in_flight_is_never_exceeded() {
    for (max_in_flight, ms) in [(1, 80), (3, 700), (3, 9000)] {
        let own = OwnLimits {
            max_in_flight: Some(max_in_flight),
            answers_after: Some(Millis::new(ms)),
            ..OwnLimits::default()
        };
        let drained = drain_first_attempts(60, own, Trouble::NONE, PATIENCE);
        assert_eq!(drained.delivered, 60, "{own:?}: {drained:?}");
        let most = max_in_flight as usize;
        assert_eq!(drained.most_in_flight, most, "{own:?}: {drained:?}");
    }
}

#[test]
fn a_backlog_is_drained_wherever_its_drainer_dies() {
    let calls = drain_backlog(60, Trouble::NONE, PATIENCE).calls;
    for call in 0..calls {
        let trouble = Trouble {
            dies_at_call: Some(call),
            ..Trouble::NONE
        };
        assert_drained(&drain_backlog(60, trouble, PATIENCE), trouble);
    }
}

#[test]
fn a_backlog_is_drained_whenever_its_webhook_is_paused_and_resumed() {
    let calls = drain_backlog(60, Trouble::NONE, PATIENCE).calls;
    for call in 0..calls {
        let trouble = Trouble {
            operator: Operator::PausesAndResumesAt(call),
            ..Trouble::NONE
        };
        assert_drained(&drain_backlog(60, trouble, PATIENCE), trouble);
    }
}

/// A drainer ends, and nothing fails.
#[test]
fn a_backlog_may_lose_its_webhook_at_any_time() {
    let calls = drain_backlog(30, Trouble::NONE, PATIENCE).calls;
    for call in 0..calls {
        let trouble = Trouble {
            operator: Operator::DeletesAt(call),
            ..Trouble::NONE
        };
        let drained = drain_backlog(30, trouble, PATIENCE);
        assert_eq!(drained.waiting, 0, "{trouble:?}: {drained:?}");
    }
}

#[test]
fn a_backlog_is_drained_whatever_the_queue_and_the_index_do() {
    for queue in [
        QueueFault::None,
        QueueFault::Loses,
        QueueFault::Doubles,
        QueueFault::Reorders,
    ] {
        for lag in [0, 1, 60, 300] {
            let trouble = Trouble {
                queue,
                index_lag: Millis::from_seconds(lag),
                late_row_after: Some(Millis::from_seconds(60)),
                ..Trouble::NONE
            };
            assert_drained(&drain_backlog(200, trouble, PATIENCE), trouble);
        }
    }
}

#[test]
fn all_webhooks_that_were_limited_at_once_are_open_within_five_minutes() {
    let size = FleetSize {
        webhooks: 500,
        functions: 3,
    };
    let recovery = recover_from_outage(size, Millis::from_seconds(300));
    assert_eq!(recovery.delivered, recovery.rows, "{recovery}");
    assert!(recovery.all_open_after.is_some(), "{recovery}");
    assert!(
        recovery.longest_tick <= Millis::from_seconds(53),
        "{recovery}"
    );
    assert_eq!(recovery.incomplete_ticks, 0, "{recovery}");
    assert!(recovery.most_drains <= 2, "{recovery}");
}

#[test]
fn hanging_receivers_leave_four_fifths_of_the_capacity_to_the_others() {
    let size = FleetSize {
        webhooks: 100,
        functions: 5,
    };
    let shared = share_with_hanging(size, 2, Millis::from_seconds(60));
    assert!(shared.percent() >= 80, "{shared}");
}

#[test]
fn the_poller_finds_every_backlog_but_one_that_cannot_be_read() {
    let size = FleetSize {
        webhooks: 40,
        functions: 2,
    };
    assert_eq!(left_by_the_poller(size, Millis::from_seconds(240)), 0);
}

#[test]
fn a_look_at_backlogs_goes_on_where_the_last_one_ran_out_of_time() {
    let whole = looks_for_a_round(4000, Millis::from_seconds(60));
    assert_eq!(whole, 1);
    // The pages that were seen before are enough to fill a short look.
    let short = looks_for_a_round(4000, Millis::new(2075));
    assert!((2..20).contains(&short), "{short} looks");
}

#[test]
fn a_row_whose_claim_took_too_long_is_given_back_and_its_message_sent_again() {
    let in_time = claim_too_late(Millis::from_seconds(40));
    assert_eq!((in_time.attempted, in_time.messages), (1, 0), "{in_time:?}");
    let late = claim_too_late(Millis::from_seconds(45));
    assert_eq!((late.attempted, late.messages), (0, 1), "{late:?}");
    assert!(
        late.is_free && late.handled == "[Ok(SentAgain)]",
        "{late:?}"
    );
}

#[test]
fn a_drain_begins_nothing_after_its_time() {
    let in_time = page_too_late(Millis::from_seconds(8));
    assert_eq!(in_time.attempted, 1, "{in_time:?}");
    let late = page_too_late(Millis::from_seconds(12));
    assert_eq!(late.attempted, 0, "{late:?}");
    assert!(late.is_free, "{late:?}");
}

#[test]
fn a_drain_of_a_webhook_that_cannot_be_read_is_not_a_failed_message() {
    assert_eq!(drain_unreadable(), "[Ok(Drained(Failed))]");
}
