use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

fn at(ms: u64) -> Timestamp {
    NOW.plus(Millis::new(ms))
}

/// The sample after one outcome every `every` milliseconds, and the time of the last one.
fn sample(every: u64, outcomes: impl IntoIterator<Item = Observed>) -> (Sample, Timestamp) {
    let mut sample = Sample::default();
    let mut now = NOW;
    for observed in outcomes {
        now = now.plus(Millis::new(every));
        sample.push(observed, now);
    }
    (sample, now)
}

fn is_limited(every: u64, outcomes: impl IntoIterator<Item = Observed>) -> bool {
    let (sample, now) = sample(every, outcomes);
    sample.calls_for_limit(now)
}

fn mix(bad: Observed, count: usize, of: usize) -> Vec<Observed> {
    (0..of)
        .map(|n| {
            if n * count / of == (n + 1) * count / of {
                Observed::Delivered
            } else {
                bad
            }
        })
        .collect()
}

#[test]
fn ten_failures_in_a_row_call_for_a_limit_whatever_their_kind() {
    for failure in [Observed::Failed, Observed::Overloaded] {
        assert!(!is_limited(100, [failure; 9]));
        assert!(is_limited(100, [failure; 10]));
    }
    let answered = [Observed::Failed; 9]
        .into_iter()
        .chain([Observed::Final])
        .chain([Observed::Failed; 9]);
    assert!(!is_limited(100, answered));
}

#[test]
fn failures_older_than_a_minute_do_not_count() {
    assert!(is_limited(6000, [Observed::Failed; 10]));
    assert!(!is_limited(6700, [Observed::Failed; 30]));
}

#[test]
fn a_fifth_of_429_calls_for_a_limit() {
    assert!(!is_limited(100, mix(Observed::TooMany, 3, 20)));
    assert!(is_limited(100, mix(Observed::TooMany, 4, 20)));
}

#[test]
fn half_of_503_calls_for_a_limit_and_a_third_does_not() {
    assert!(!is_limited(100, mix(Observed::Overloaded, 19, 40)));
    assert!(is_limited(100, mix(Observed::Overloaded, 20, 40)));
    assert!(!is_limited(100, mix(Observed::Overloaded, 40, 120)));
    assert!(
        !is_limited(100, mix(Observed::Failed, 30, 40)),
        "other failures count only in a row"
    );
}

#[test]
fn a_burst_within_a_busy_second_does_not_call_for_a_limit() {
    let mut outcomes = vec![Observed::Delivered; 300];
    outcomes.extend(mix(Observed::TooMany, 10, 20));
    assert!(!is_limited(2, outcomes.clone()));
    assert!(is_limited(60, outcomes), "the same, slowly");
}

#[test]
fn a_clock_that_was_ahead_does_not_keep_an_outcome_alive() {
    let mut sample = Sample::default();
    for _ in 0..9 {
        sample.push(Observed::Failed, at(86_400_000));
    }
    sample.push(Observed::Delivered, NOW);
    sample.push(Observed::Failed, at(61_000));
    assert_eq!(sample.last.len(), 1);
}

#[test]
fn answers_of_the_last_second_are_counted() {
    let (sample, now) = sample(10, vec![Observed::Delivered; 500]);
    assert_eq!(sample.answered_in_a_second(now), 91);
    assert_eq!(sample.answered_in_a_second(now.plus(Millis::new(2000))), 0);
}
