//! The poller at scale, small enough for every run; `make simulate` does ten million rows.

use postrider_domain::time::Millis;
use postrider_tests::simulation::{Scenario, simulate};

#[test]
fn hints_of_waiting_rows_are_on_time_however_unpunctual_the_ticks() {
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
