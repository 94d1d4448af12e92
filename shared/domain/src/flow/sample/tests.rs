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
        sample.push(observed, now, now);
    }
    (sample, now)
}

fn is_limited(every: u64, outcomes: impl IntoIterator<Item = Observed>) -> bool {
    let (sample, now) = sample(every, outcomes);
    sample.symptom(now).is_some()
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
fn a_receiver_that_fails_some_at_any_rate_is_down_after_more_failures_in_a_row() {
    let after_a_quarter = |failures| {
        let mut outcomes = mix(Observed::Failed, 10, 40);
        outcomes.push(Observed::Delivered);
        outcomes.extend(vec![Observed::Failed; failures]);
        is_limited(200, outcomes)
    };
    assert!(!after_a_quarter(14));
    assert!(after_a_quarter(15));
}

#[test]
fn more_than_half_of_503_calls_for_a_limit_and_half_may_be_chance() {
    assert!(!is_limited(200, mix(Observed::Overloaded, 33, 60)));
    assert!(is_limited(200, mix(Observed::Overloaded, 34, 60)));
    assert!(!is_limited(10, mix(Observed::Overloaded, 500, 1000)));
    assert!(is_limited(10, mix(Observed::Overloaded, 530, 1000)));
    assert!(!is_limited(200, mix(Observed::Overloaded, 60, 180)));
    assert!(
        !is_limited(200, mix(Observed::Failed, 45, 60)),
        "other failures count only in a row"
    );
}

#[test]
fn three_quarters_of_503_call_for_a_limit_sooner() {
    assert!(!is_limited(1000, mix(Observed::Overloaded, 17, 24)));
    assert!(is_limited(1000, mix(Observed::Overloaded, 18, 24)));
}

#[test]
fn a_busy_webhook_is_judged_by_ten_seconds() {
    let mut outcomes = vec![Observed::Delivered; 300];
    outcomes.extend(mix(Observed::TooMany, 9, 20));
    assert!(!is_limited(10, outcomes.clone()));
    assert!(is_limited(600, outcomes), "the same, slowly");
}

#[test]
fn failures_of_an_instant_do_not_call_for_a_limit() {
    let down = |failures| {
        let mut outcomes = vec![Observed::Delivered; 1000];
        outcomes.extend(vec![Observed::Failed; failures]);
        is_limited(2, outcomes)
    };
    assert!(!down(100));
    assert!(down(150));
}

#[test]
fn a_clock_that_was_ahead_does_not_keep_an_outcome_alive() {
    let tomorrow = at(86_400_000);
    let mut sample = Sample::default();
    for _ in 0..9 {
        sample.push(Observed::Failed, tomorrow, tomorrow);
    }
    sample.push(Observed::Delivered, NOW, NOW);
    sample.push(Observed::Failed, at(61_000), at(61_000));
    assert_eq!(sample.last.len(), 1);
}

#[test]
fn answers_of_the_last_second_are_counted() {
    let (sample, now) = sample(10, vec![Observed::Delivered; 500]);
    assert_eq!(sample.answered_milli(now), 101_000);
    assert_eq!(sample.answered_milli(now.plus(Millis::new(2000))), 0);
}

#[test]
fn an_outcome_that_is_reported_late_does_not_displace_newer_ones() {
    let (mut sample, now) = sample(10, vec![Observed::Delivered; 500]);
    sample.push(Observed::Failed, now.minus(Millis::from_seconds(20)), now);
    assert_eq!(sample.answered_milli(now), 101_000);
}

#[test]
fn answers_per_second_are_those_of_the_time_they_cover() {
    let mut sample = Sample::default();
    for _ in 0..10 {
        sample.push(Observed::Delivered, NOW, NOW);
    }
    for (ms, expected) in [(0, 10_000), (250, 8000), (1250, 8000), (1500, 0)] {
        assert_eq!(sample.answered_milli(at(ms)), expected, "{ms} ms later");
    }
}

#[test]
fn what_a_clock_that_ran_ahead_has_counted_makes_way() {
    let mut sample = Sample::default();
    sample.push(Observed::Delivered, at(10_000), at(10_000));
    sample.push(Observed::Delivered, NOW, NOW);
    assert!(sample.has_answer(NOW));
}

#[test]
fn a_fifth_of_many_is_counted_over_ten_seconds() {
    assert!(is_limited(50, mix(Observed::TooMany, 20, 100)));
    assert!(!is_limited(50, mix(Observed::TooMany, 19, 100)));
}

#[test]
fn too_many_and_overloaded_count_together() {
    let mut outcomes = mix(Observed::Overloaded, 34, 60);
    let bad = outcomes.iter_mut().filter(|one| one.is_failure());
    for one in bad.step_by(3).take(11) {
        *one = Observed::TooMany;
    }
    assert!(is_limited(100, outcomes));
}
