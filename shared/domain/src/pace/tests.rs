use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
const FOREVER: Timestamp = Timestamp::from_millis(i64::MAX);

fn at(ms: u64) -> Timestamp {
    NOW.plus(Millis::new(ms))
}

fn asked(count: usize, per_second: u32) -> Asked {
    Asked {
        count,
        per_second,
        until: FOREVER,
    }
}

/// The rates after a signal each second.
fn rates(mut pace: Pace, signal: Signal, per_second: u32, seconds: u64) -> Vec<u32> {
    let step = |second| {
        let next = pace.signalled(signal, per_second, at(second * 1000));
        pace = next.unwrap_or(pace);
        pace.rate_milli(per_second)
    };
    (1..=seconds).map(step).collect()
}

#[test]
fn a_receiver_that_cannot_keep_up_gets_half_down_to_one_a_second() {
    let rates = rates(Pace::default(), Signal::TooFast, 20, 6);
    assert_eq!(rates, [10_000, 5_000, 2_500, 1_250, 1_000, 1_000]);
}

#[test]
fn a_burst_of_refusals_counts_once() {
    let once = Pace::default()
        .signalled(Signal::TooFast, 100, NOW)
        .unwrap();
    assert_eq!(once.signalled(Signal::TooFast, 100, at(999)), None);
    assert_eq!(once.signalled(Signal::Fine, 100, at(999)), None);
    assert!(once.signalled(Signal::TooFast, 100, at(1000)).is_some());
}

#[test]
fn a_refusal_counts_right_after_a_raise() {
    let raised = Pace::default()
        .probing(NOW)
        .signalled(Signal::Fine, 100, at(1000));
    let raised = raised.unwrap();
    assert_eq!(raised.signalled(Signal::Fine, 100, at(1001)), None);
    assert!(raised.signalled(Signal::TooFast, 100, at(1001)).is_some());
}

#[test]
fn success_speeds_up_by_a_quarter_each_second_to_what_is_configured() {
    let ramp = rates(Pace::default().probing(NOW), Signal::Fine, 5, 9);
    assert_eq!(ramp, [1250, 1562, 1952, 2440, 3050, 3812, 4765, 5000, 5000]);
    let ramp = rates(Pace::default().probing(NOW), Signal::Fine, 10_000, 60);
    assert_eq!(ramp.iter().position(|rate| *rate == 10_000_000), Some(41));
}

#[test]
fn at_the_full_rate_success_changes_nothing() {
    assert_eq!(Pace::default().signalled(Signal::Fine, 5, NOW), None);
}

#[test]
fn a_webhook_configured_to_the_floor_cannot_be_slowed() {
    assert_eq!(Pace::default().signalled(Signal::TooFast, 1, NOW), None);
    assert!(!Pace::default().probing(NOW).is_slowed(1));
}

#[test]
fn a_changed_configuration_counts_at_once() {
    let slowed = Pace::default()
        .signalled(Signal::TooFast, 100, NOW)
        .unwrap();
    assert_eq!(slowed.rate_milli(100), 50_000);
    assert_eq!(
        slowed.rate_milli(20),
        20_000,
        "never above what is configured"
    );
    assert!(!slowed.is_slowed(20));
    assert_eq!(
        slowed.rate_milli(1000),
        50_000,
        "a higher one is grown into"
    );
}

#[test]
fn a_clock_that_was_far_ahead_does_not_stop_the_rate() {
    let slowed = Pace::default()
        .signalled(Signal::TooFast, 100, at(3_600_000))
        .unwrap();
    assert!(slowed.signalled(Signal::TooFast, 100, NOW).is_some());
    assert!(slowed.signalled(Signal::Fine, 100, NOW).is_some());
}

#[test]
fn a_thousand_turns_at_three_a_second_take_five_and_a_half_minutes() {
    let (given, _) = Pace::default().reserve(asked(1000, 3), NOW);
    assert_eq!(given.turns[0], NOW);
    assert_eq!(given.turns[999].since(NOW), Millis::new(333_001));
}

#[test]
fn unused_turns_do_not_accumulate() {
    let (_, after) = Pace::default().reserve(asked(1, 5), NOW);
    let (given, _) = after.reserve(asked(2, 5), at(10_000));
    assert_eq!(given.turns, [at(10_000), at(10_200)]);
}

#[test]
fn the_highest_rate_has_ten_turns_in_a_millisecond() {
    let (given, _) = Pace::default().reserve(asked(20, 10_000), NOW);
    assert_eq!(given.turns[19], at(2));
}

#[test]
fn no_turn_is_given_later_than_asked_for() {
    let until = at(1000);
    let few = Asked {
        until,
        ..asked(100, 5)
    };
    let (given, after) = Pace::default().reserve(few, NOW);
    assert_eq!(given.turns.len(), 6);
    assert_eq!(given.turns.last(), Some(&until));
    let (none, same) = after.reserve(few, NOW);
    assert_eq!((none.turns.len(), same), (0, after));
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Signal(Signal),
    Reserve(usize),
    Resume,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Signal(Signal::TooFast)),
        4 => Just(Step::Signal(Signal::Fine)),
        4 => (0..20_usize).prop_map(Step::Reserve),
        1 => Just(Step::Resume),
        4 => (0..3000_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn whatever_happens_no_second_has_more_turns_than_configured(
        steps in proptest::collection::vec(step(), 1..80), per_second in 1..200_u32,
    ) {
        let (mut pace, mut now, mut turns) = (Pace::default(), NOW, Vec::new());
        for step in steps {
            match step {
                Step::Signal(signal) => pace = pace.signalled(signal, per_second, now).unwrap_or(pace),
                Step::Resume => pace = pace.probing(now),
                Step::Wait(ms) => now = now.plus(Millis::new(ms)),
                Step::Reserve(count) => {
                    let (given, after) = pace.reserve(asked(count, per_second), now);
                    prop_assert!(given.turns.iter().all(|turn| *turn >= now));
                    turns.extend(given.turns);
                    pace = after;
                }
            }
            let rate = pace.rate_milli(per_second);
            prop_assert!((FLOOR_MILLI..=per_second * 1000).contains(&rate));
        }
        prop_assert!(turns.is_sorted());
        for (n, first) in turns.iter().enumerate() {
            let second = turns[n..].iter().take_while(|turn| turn.since(*first) < Millis::from_seconds(1));
            // Rounding a turn up to the millisecond may move one into a second that it just missed.
            prop_assert!(second.count() <= per_second as usize + 1);
        }
    }

    #[test]
    fn no_input_overflows(free_at_us: i64, rate_milli: u32, now: i64, count in 0..50_usize, per_second: u32, until: i64) {
        let now = Timestamp::from_millis(now);
        let slowed = Some(Slowed { rate_milli, halved_at: now, changed_at: now });
        let pace = Pace { free_at_us, slowed };
        let until = Timestamp::from_millis(until);
        let (given, after) = pace.reserve(Asked { count, per_second, until }, now);
        prop_assert!(given.turns.len() <= count && after.free_at_us >= free_at_us);
        let _ = pace.signalled(Signal::TooFast, per_second, now);
        let _ = pace.signalled(Signal::Fine, per_second, now);
    }
}

/// It tells when to come again, which is another matter than how fast.
#[test]
fn a_refusal_that_says_when_to_come_again_slows_no_less() {
    for (status, retry_after) in [
        (429, None),
        (429, Some(3600)),
        (503, None),
        (503, Some(3600)),
    ] {
        let response = crate::outcome::Response {
            status,
            retry_after: retry_after
                .map(Millis::from_seconds)
                .map(crate::outcome::RetryAfter::Delay),
            control: None,
            content_type: None,
            body: String::new(),
        };
        let outcome = Outcome {
            result: Answer::Response(response),
            timings: crate::outcome::Timings::default(),
        };
        let signal = Signal::of(&outcome, Verdict::Failure);
        assert_eq!(signal, Some(Signal::TooFast), "{status} {retry_after:?}");
    }
}
