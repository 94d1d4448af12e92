use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

fn at(ms: u64) -> Timestamp {
    NOW.plus(Millis::new(ms))
}

/// When attempts begin if as many as possible are taken every `every` milliseconds.
fn taken(rate_milli: u32, every: u64, until: u64) -> Vec<u64> {
    let mut credit = Credit::full(NOW);
    let looks = (0..until).step_by(usize::try_from(every).unwrap());
    looks
        .flat_map(|ms| {
            let granted = credit.take(rate_milli, usize::MAX, at(ms));
            std::iter::repeat_n(ms, granted)
        })
        .collect()
}

fn most_in_a_second(began: &[u64]) -> usize {
    let mut from = 0;
    let ends = began.iter().enumerate();
    let within = ends.map(|(last, ms)| {
        while began[from] + 1000 <= *ms {
            from += 1;
        }
        last + 1 - from
    });
    within.max().unwrap_or(0)
}

#[test]
fn five_per_second_is_never_six_in_any_second() {
    for every in [1, 7, 33, 100, 199, 200, 201, 450] {
        let began = taken(5000, every, 20_000);
        assert!(most_in_a_second(&began) <= 5, "a look every {every} ms");
    }
    assert_eq!(taken(5000, 1, 1001), [0, 200, 400, 600, 800, 1000]);
}

#[test]
fn credit_is_ready_when_it_says_so() {
    let mut credit = Credit::full(NOW);
    assert_eq!(credit.ready_at(3000, NOW), NOW);
    assert_eq!(credit.take(3000, 10, NOW), 1);
    assert_eq!(credit.ready_at(3000, NOW), at(334));
    assert_eq!(credit.take(3000, 1, at(333)), 0);
    assert_eq!(credit.take(3000, 1, at(334)), 1);
}

#[test]
fn unused_credit_does_not_accumulate() {
    let mut credit = Credit::full(NOW);
    assert_eq!(credit.take(500_000, usize::MAX, at(3_600_000)), 50);
}

#[test]
fn credit_left_from_a_higher_rate_is_not_kept() {
    let mut credit = Credit::full(NOW);
    credit.take(1_000_000, 1, NOW);
    assert_eq!(credit.take(5000, usize::MAX, NOW), 1);
}

proptest! {
    #[test]
    fn no_second_exceeds_the_rate_by_more_than_a_tenth(
        rate_milli in 1000_u32..2_000_000,
        gaps in prop::collection::vec(0_u64..400, 1..60),
    ) {
        let mut credit = Credit::full(NOW);
        let mut ms = 0;
        let mut began = Vec::new();
        for gap in gaps {
            ms += gap;
            let granted = credit.take(rate_milli, usize::MAX, at(ms));
            began.extend(std::iter::repeat_n(ms, granted));
        }
        let tenth_more = usize::try_from(u64::from(rate_milli) * 11 / 10_000).unwrap();
        let rounded_up = usize::try_from(rate_milli.div_ceil(1000)).unwrap();
        prop_assert!(most_in_a_second(&began) <= tenth_more.max(rounded_up));
    }

    #[test]
    fn a_clock_that_was_ahead_for_one_call_delays_nothing_by_more_than_a_second(
        rate_milli in 1000_u32..2_000_000,
        ahead_ms in 0_u64..100_000_000_000,
    ) {
        let mut credit = Credit::full(NOW);
        credit.take(rate_milli, usize::MAX, at(ahead_ms));
        prop_assert!(credit.ready_at(rate_milli, NOW) <= at(1000));
        credit.take(rate_milli, 0, NOW);
        prop_assert!(credit.ready_at(rate_milli, NOW) <= at(1000));
    }

    #[test]
    fn any_stored_bucket_can_be_used(level_micro: u64, stored: i64, now: i64, rate_milli: u32, want: usize) {
        let mut credit = Credit { level_micro, at: Timestamp::from_millis(stored) };
        let now = Timestamp::from_millis(now);
        let ready_at = credit.ready_at(rate_milli, now);
        prop_assert!(ready_at >= now);
        prop_assert!(credit.take(rate_milli, want, now) <= want);
    }
}

#[test]
fn credit_that_is_given_back_can_be_taken_again_but_never_exceeds_the_bucket() {
    let mut credit = Credit::full(NOW);
    assert_eq!(credit.take(100_000, 10, NOW), 10);
    assert_eq!(credit.take(100_000, 1, NOW), 0);
    credit.give_back(4);
    assert_eq!(credit.take(100_000, 10, NOW), 4);
    credit.give_back(1000);
    assert_eq!(credit.take(100_000, 1000, NOW), 10);
}

#[test]
fn credit_of_a_clock_that_ran_ahead_is_full() {
    let ahead = |ms: u64| Credit::empty(at(5000 + ms)).healed(NOW);
    assert_eq!(ahead(0), Credit::empty(at(5000)), "clocks differ");
    assert_eq!(ahead(1), Credit::full(NOW));
    assert_eq!(Credit::empty(NOW).healed(NOW), Credit::empty(NOW));
}
