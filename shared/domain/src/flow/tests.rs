use proptest::prelude::*;

use super::step::PROBE_MILLI;
use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
const LIMITS: Limits = Limits {
    retry_rate: 5,
    ramp: Ramp::On,
    max_rate: None,
    max_in_flight: None,
};
const FIXED: Limits = Limits {
    ramp: Ramp::Off,
    ..LIMITS
};
const NOTHING: Waiting = Waiting {
    first_due_at: None,
    retry_due_at: None,
};

fn at(ms: u64) -> Timestamp {
    NOW.plus(Millis::new(ms))
}

fn seen(observed: Observed, ms: u64) -> Observation {
    Observation {
        began_at: at(ms),
        ended_at: at(ms),
        observed,
    }
}

/// A flow that was limited at zero with this rate.
fn limited(rate: u32) -> Flow {
    let limiter = Limiter {
        limited: true,
        rate_milli: rate * MILLI,
        changed_at: NOW,
        waited_at: NOW,
        epoch: 1,
        ..Limiter::default()
    };
    Flow::of(limiter, NOW)
}

fn retries_waiting() -> Waiting {
    Waiting {
        first_due_at: None,
        retry_due_at: Some(NOW),
    }
}

/// One second of outcomes that ends in a step.
fn second(
    flow: &mut Flow,
    from: u64,
    outcomes: &[(Observed, usize)],
    waiting: &Waiting,
) -> Option<Change> {
    for (observed, count) in outcomes {
        for _ in 0..*count {
            flow.observe(seen(*observed, from), &LIMITS, at(from));
        }
    }
    flow.allow(AttemptKind::Retry, NOW, usize::MAX, &LIMITS, at(from + 999));
    flow.step(waiting, &LIMITS, at(from + 1000))
}

fn rates(from: u32, to: u32) -> Rates {
    Rates {
        from_milli: from * MILLI,
        to_milli: to * MILLI,
    }
}

#[test]
fn a_first_attempt_needs_no_credit_unless_the_webhook_is_limited() {
    let mut flow = Flow::new(&LIMITS, NOW);
    assert_eq!(
        flow.allow(AttemptKind::First, NOW, 1000, &LIMITS, NOW),
        1000
    );
    assert_eq!(flow.allow(AttemptKind::Retry, NOW, 1000, &LIMITS, NOW), 1);
    assert!(!flow.needs_credit(AttemptKind::First, NOW, &LIMITS));
    assert!(flow.needs_credit(AttemptKind::Retry, NOW, &LIMITS));
    let mut flow = limited(5);
    assert!(flow.needs_credit(AttemptKind::First, NOW, &LIMITS));
    assert_eq!(
        flow.allow(AttemptKind::First, NOW, 1000, &LIMITS, at(200)),
        1
    );
}

#[test]
fn a_first_attempt_that_was_due_before_the_webhook_opened_needs_credit() {
    let mut flow = Flow::of(
        Limiter {
            opened_at: NOW,
            ..Limiter::new(&LIMITS, NOW)
        },
        NOW,
    );
    let before = NOW.minus(Millis::new(1));
    assert_eq!(
        flow.allow(AttemptKind::First, before, 9, &LIMITS, at(200)),
        1
    );
    assert_eq!(
        flow.ready_at(AttemptKind::First, before, &LIMITS, at(200)),
        at(400)
    );
    assert_eq!(flow.allow(AttemptKind::First, NOW, 9, &LIMITS, at(200)), 9);
    assert_eq!(
        flow.ready_at(AttemptKind::First, NOW, &LIMITS, at(200)),
        at(200)
    );
}

#[test]
fn without_a_ramp_retries_keep_to_their_rate_while_first_attempts_use_the_rest() {
    let mut flow = limited(100);
    let mut began = [0, 0];
    for ms in 0..1000 {
        let kinds = [AttemptKind::Retry, AttemptKind::First];
        for (count, kind) in began.iter_mut().zip(kinds) {
            *count += flow.allow(kind, NOW, 1000, &FIXED, at(ms));
        }
    }
    assert_eq!(began[0], 4, "and a fifth after a second");
    assert!((95..=105).contains(&began[1]), "{began:?}");
}

#[test]
fn a_process_that_takes_over_begins_without_credit() {
    let mut before = Flow::new(&LIMITS, NOW);
    assert_eq!(before.allow(AttemptKind::Retry, NOW, 9, &LIMITS, NOW), 1);
    let mut after = Flow::of(*before.limiter(), at(10));
    assert_eq!(after.allow(AttemptKind::Retry, NOW, 9, &LIMITS, at(10)), 0);
    assert_eq!(
        after.ready_at(AttemptKind::Retry, NOW, &LIMITS, at(10)),
        at(210)
    );
}

#[test]
fn a_maximum_rate_holds_for_all_attempts() {
    let limits = Limits {
        max_rate: Some(2),
        ..LIMITS
    };
    let mut flow = Flow::new(&limits, NOW);
    assert_eq!(flow.allow(AttemptKind::First, NOW, 10, &limits, NOW), 1);
    assert_eq!(flow.allow(AttemptKind::Retry, NOW, 10, &limits, NOW), 0);
    assert_eq!(
        flow.ready_at(AttemptKind::First, NOW, &limits, NOW),
        at(500)
    );
    assert_eq!(flow.current_rate_milli(&limits), 2000);
}

#[test]
fn a_receiver_that_is_down_is_probed_slowly() {
    let mut flow = Flow::new(&LIMITS, NOW);
    let changes: Vec<_> = (1..=20)
        .filter_map(|n| flow.observe(seen(Observed::Failed, n * 50), &LIMITS, at(n * 50)))
        .collect();
    assert_eq!(changes, [Change::Entered(rates(5, PROBE_MILLI / MILLI))]);
    assert_eq!(flow.limiter().epoch, 1);
}

#[test]
fn failures_counted_over_all_processes_limit_a_webhook() {
    let mut flow = Flow::new(&LIMITS, NOW);
    assert_eq!(flow.failed_in_a_row(9, &LIMITS, NOW), None);
    assert_eq!(
        flow.failed_in_a_row(10, &LIMITS, NOW),
        Some(Change::Entered(rates(5, 2)))
    );
    assert_eq!(flow.failed_in_a_row(11, &LIMITS, NOW), None);
}

#[test]
fn a_process_that_was_answered_just_now_does_not_believe_the_count() {
    let mut flow = Flow::new(&LIMITS, NOW);
    flow.observe(seen(Observed::Delivered, 0), &LIMITS, NOW);
    assert_eq!(flow.failed_in_a_row(10, &LIMITS, at(1000)), None);
    assert!(flow.failed_in_a_row(10, &LIMITS, at(2500)).is_some());
}

#[test]
fn without_a_limit_retries_are_slowed_down_when_a_tenth_is_rejected() {
    let outcomes = [(Observed::Delivered, 90), (Observed::TooMany, 10)];
    let mut flow = limited(100);
    assert_eq!(second(&mut flow, 0, &outcomes, &NOTHING), None);
    let mut flow = Flow::new(&LIMITS, NOW);
    flow.limiter.rate_milli = 100_000;
    assert_eq!(
        second(&mut flow, 0, &outcomes, &NOTHING),
        Some(Change::Cut(rates(100, 81)))
    );
}

#[test]
fn a_rate_is_cut_to_a_little_less_than_what_was_answered() {
    let mut flow = limited(100);
    let outcomes = [(Observed::Delivered, 60), (Observed::TooMany, 40)];
    assert_eq!(
        second(&mut flow, 0, &outcomes, &NOTHING),
        Some(Change::Cut(rates(100, 54)))
    );
    assert_eq!(flow.limiter().good_milli, Some(54_000));
}

#[test]
fn three_failures_without_an_answer_are_enough_for_a_cut() {
    let mut flow = limited(100);
    assert_eq!(
        second(&mut flow, 0, &[(Observed::Failed, 2)], &NOTHING),
        None
    );
    assert_eq!(
        second(&mut flow, 1000, &[(Observed::Failed, 1)], &NOTHING),
        Some(Change::Cut(rates(100, 2)))
    );
    assert_eq!(flow.limiter().good_milli, None);
}

#[test]
fn a_rate_is_doubled_up_to_what_was_good_and_then_raised_by_a_quarter() {
    let mut flow = limited(8);
    flow.limiter.good_milli = Some(20_000);
    let mut steps = Vec::new();
    for n in 0..4 {
        let rate = usize::try_from(flow.limiter().rate_milli / MILLI).unwrap();
        let change = second(
            &mut flow,
            n * 1000,
            &[(Observed::Delivered, rate)],
            &retries_waiting(),
        );
        steps.push(change.unwrap().rates().to_milli);
    }
    assert_eq!(steps, [16_000, 20_000, 25_000, 31_250]);
}

#[test]
fn a_rate_that_nothing_waits_for_is_not_raised() {
    let mut flow = limited(8);
    for n in 1..=8 {
        flow.observe(seen(Observed::Delivered, n), &LIMITS, at(n));
    }
    assert_eq!(flow.step(&NOTHING, &LIMITS, at(1000)), None);
}

#[test]
fn without_an_outcome_nothing_changes() {
    let mut flow = limited(8);
    for n in 0..50 {
        flow.allow(AttemptKind::Retry, NOW, 100, &LIMITS, at(n * 1000));
        assert_eq!(flow.step(&retries_waiting(), &LIMITS, at(n * 1000)), None);
    }
}

#[test]
fn outcomes_of_attempts_that_began_before_the_last_change_do_not_count() {
    let mut flow = limited(100);
    for _ in 0..50 {
        let late = Observation {
            began_at: NOW.minus(Millis::new(1)),
            ended_at: at(900),
            observed: Observed::Overloaded,
        };
        flow.observe(late, &LIMITS, at(900));
    }
    assert_eq!(flow.step(&NOTHING, &LIMITS, at(1000)), None);
    assert_eq!(flow.limiter().rate_milli, 100_000);
}

#[test]
fn failures_that_occur_at_any_rate_do_not_cause_a_cut() {
    let mut flow = limited(100);
    let outcomes = [(Observed::Delivered, 70), (Observed::Overloaded, 30)];
    let change = second(&mut flow, 0, &outcomes, &retries_waiting());
    assert_eq!(change, Some(Change::Raised(rates(100, 200))));
    let change = second(&mut flow, 1000, &outcomes, &retries_waiting());
    assert_eq!(change, Some(Change::Raised(rates(200, 400))));
    assert_eq!(flow.limiter().base, Some(700));
    let outcomes = [(Observed::Delivered, 50), (Observed::Overloaded, 50)];
    let change = second(&mut flow, 2000, &outcomes, &retries_waiting());
    assert_eq!(change, Some(Change::Cut(rates(400, 45))));
}

#[test]
fn a_webhook_opens_after_ten_calm_seconds() {
    let mut flow = limited(8);
    let mut change = None;
    let mut seconds = 0;
    while change.is_none() {
        seconds += 1;
        flow.observe(
            seen(Observed::Delivered, seconds * 1000),
            &LIMITS,
            at(seconds * 1000),
        );
        change = flow.step(&NOTHING, &LIMITS, at(seconds * 1000));
    }
    assert!(matches!(change, Some(Change::Opened(_))), "{change:?}");
    assert_eq!(seconds, 11);
    assert_eq!((flow.limiter().limited, flow.limiter().epoch), (false, 2));
}

#[test]
fn a_webhook_with_a_backlog_opens_when_it_takes_plenty() {
    let opened = |per_second| {
        let mut flow = limited(1000);
        (0..15).any(|n| {
            let outcomes = [(Observed::Delivered, per_second)];
            let change = second(&mut flow, n * 1000, &outcomes, &retries_waiting());
            matches!(change, Some(Change::Opened(_)))
        })
    };
    assert!(opened(200));
    assert!(!opened(199));
}

#[test]
fn a_webhook_without_a_backlog_for_a_minute_is_as_if_new() {
    let mut flow = limited(300);
    assert_eq!(flow.step(&NOTHING, &LIMITS, at(59_999)), None);
    assert_eq!(
        flow.step(&NOTHING, &LIMITS, at(60_000)),
        Some(Change::Reset(rates(300, 5)))
    );
    assert!(!flow.limiter().limited);
    assert_eq!(flow.step(&NOTHING, &LIMITS, at(120_000)), None);
}

#[test]
fn a_webhook_that_anything_waits_for_is_not_as_if_new() {
    let first = Waiting {
        first_due_at: Some(NOW),
        retry_due_at: None,
    };
    for waiting in [first, retries_waiting()] {
        let mut flow = limited(300);
        assert_eq!(flow.step(&waiting, &LIMITS, at(30_000)), None);
        assert_eq!(flow.step(&NOTHING, &LIMITS, at(89_999)), None);
        let reset = flow.step(&NOTHING, &LIMITS, at(90_000));
        assert_eq!(reset, Some(Change::Reset(rates(300, 5))));
    }
}

#[test]
fn retries_go_first_unless_both_kinds_share_a_maximum() {
    let capped = Limits {
        max_in_flight: Some(1),
        ..LIMITS
    };
    let open = Flow::new(&LIMITS, NOW);
    assert!(open.retries_go_first(&LIMITS) && !open.retries_go_first(&capped));
    assert!(limited(5).retries_go_first(&LIMITS) && limited(5).retries_go_first(&capped));
}

/// A flow that was limited at zero with this rate, to a receiver of which this is known.
fn known(rate: u32, good: Option<u32>, base: Option<PerMille>) -> Flow {
    let limiter = Limiter {
        good_milli: good.map(|good| good * MILLI),
        base,
        ..*limited(rate).limiter()
    };
    Flow::of(limiter, NOW)
}

#[test]
fn a_receiver_in_doubt_for_five_seconds_is_cut() {
    let mut flow = known(100, None, Some(1000));
    let outcomes = [(Observed::Delivered, 18), (Observed::TooMany, 2)];
    for n in 0..4 {
        let change = second(&mut flow, n * 1000, &outcomes, &retries_waiting());
        assert_eq!(change, None, "after {n} s");
    }
    let change = second(&mut flow, 4000, &outcomes, &retries_waiting());
    assert!(matches!(change, Some(Change::Cut(_))), "{change:?}");
}

#[test]
fn a_rate_is_not_raised_by_what_is_only_forgiven() {
    let delivered = [(Observed::Delivered, 10)];
    let forgiven = [(Observed::Delivered, 9), (Observed::Failed, 1)];
    let raised = Some(Change::Raised(rates(10, 20)));
    for (outcomes, expected) in [(&delivered[..], raised), (&forgiven, None)] {
        let mut flow = known(10, None, Some(1000));
        let change = second(&mut flow, 0, outcomes, &retries_waiting());
        assert_eq!(change, expected);
    }
}

#[test]
fn a_rate_that_is_not_used_is_not_raised() {
    let outcomes = [(Observed::Delivered, 10)];
    let change = second(&mut limited(100), 0, &outcomes, &retries_waiting());
    assert_eq!(change, None);
}

#[test]
fn a_rate_far_above_what_was_good_is_doubled() {
    for (good, to) in [(10, 40), (11, 25)] {
        let mut flow = known(20, Some(good), None);
        let outcomes = [(Observed::Delivered, 20)];
        let change = second(&mut flow, 0, &outcomes, &retries_waiting());
        assert_eq!(change, Some(Change::Raised(rates(20, to))));
    }
}

#[test]
fn a_webhook_opens_if_nothing_waits_for_more_than_a_second() {
    for (waited, opens) in [(1000, true), (1001, false)] {
        let mut flow = limited(20);
        let is_open = (1..15).any(|n| {
            let waiting = Waiting {
                first_due_at: None,
                retry_due_at: Some(at((n + 1) * 1000 - waited)),
            };
            let outcomes = [(Observed::Delivered, 20)];
            let change = second(&mut flow, n * 1000, &outcomes, &waiting);
            matches!(change, Some(Change::Opened(_)))
        });
        assert_eq!(is_open, opens, "{waited} ms");
    }
}

#[test]
fn a_webhook_that_opens_with_a_backlog_gets_a_part_of_what_it_took() {
    let mut flow = limited(1000);
    let outcomes = [(Observed::Delivered, 400)];
    let mut changes =
        (0..15).filter_map(|n| second(&mut flow, n * 1000, &outcomes, &retries_waiting()));
    assert_eq!(changes.next(), Some(Change::Opened(rates(1000, 100))));
}

/// A flow that opened at zero.
fn opened() -> Flow {
    let limiter = Limiter {
        opened_at: NOW,
        ..Limiter::new(&LIMITS, NOW)
    };
    Flow::of(limiter, NOW)
}

#[test]
fn failures_of_attempts_that_began_before_the_webhook_opened_do_not_limit_it() {
    for (began_at, limits) in [(NOW.minus(Millis::new(1)), 0), (NOW, 1)] {
        let mut flow = opened();
        let mut changes = 0;
        for n in 0..10 {
            let observation = Observation {
                began_at,
                ..seen(Observed::Failed, n * 50)
            };
            let change = flow.observe(observation, &LIMITS, at(n * 50));
            changes += change.iter().count();
        }
        assert_eq!(changes, limits);
    }
}

#[test]
fn an_answer_of_just_now_counts_whenever_its_attempt_began() {
    let before = Observation {
        began_at: NOW.minus(Millis::new(1)),
        ..seen(Observed::Delivered, 0)
    };
    let mut flow = opened();
    assert_eq!(flow.observe(before, &LIMITS, at(10)), None);
    assert_eq!(flow.failed_in_a_row(10, &LIMITS, at(20)), None);
    let mut flow = opened();
    flow.observe(seen(Observed::Delivered, 0), &LIMITS, at(10));
    let next_epoch = flow.limiter().paused();
    flow.with(next_epoch, at(15));
    assert_eq!(flow.failed_in_a_row(10, &LIMITS, at(20)), None);
    assert!(opened().failed_in_a_row(10, &LIMITS, at(20)).is_some());
}

#[test]
fn what_was_seen_before_a_change_of_another_process_says_nothing() {
    for changes_at in [0, 500] {
        let mut flow = limited(100);
        for _ in 0..3 {
            flow.observe(seen(Observed::Failed, 100), &LIMITS, at(100));
        }
        let changed = Limiter {
            changed_at: at(changes_at),
            ..*flow.limiter()
        };
        flow.with(changed, at(500));
        let cut = flow.step(&retries_waiting(), &LIMITS, at(1500));
        assert_eq!(cut.is_some(), changes_at == 0, "{cut:?}");
    }
}

#[test]
fn a_resumed_webhook_starts_from_scratch() {
    let mut flow = limited(100);
    for _ in 0..3 {
        flow.observe(seen(Observed::Failed, 100), &LIMITS, at(100));
    }
    let resumed = flow.limiter().resumed(at(200));
    flow.resumed(at(200));
    assert_eq!(flow.limiter(), &resumed);
    let step = flow.step(&retries_waiting(), &LIMITS, at(1500));
    assert_eq!(step, None, "the failures were of the time before");
}

#[test]
fn credit_that_is_given_back_can_be_used_again() {
    let capped = Limits {
        max_rate: Some(5),
        ..FIXED
    };
    for limits in [LIMITS, FIXED, capped] {
        let mut flow = limited(5);
        for kind in [AttemptKind::Retry, AttemptKind::First] {
            let available = |flow: &Flow| flow.available(kind, NOW, &limits, at(200));
            assert_eq!(available(&flow), 1);
            assert_eq!(flow.allow(kind, NOW, 9, &limits, at(200)), 1);
            assert_eq!(available(&flow), 0);
            flow.give_back(kind, NOW, 1, &limits);
            assert_eq!(available(&flow), 1);
        }
    }
    let open = Flow::new(&LIMITS, NOW);
    let all = open.available(AttemptKind::First, NOW, &LIMITS, NOW);
    assert_eq!(all, usize::MAX);
}

#[test]
fn each_change_has_a_name_of_its_own() {
    let rates = rates(1, 2);
    let changes = [
        Change::Entered(rates),
        Change::Cut(rates),
        Change::Raised(rates),
        Change::Opened(rates),
        Change::Reset(rates),
    ];
    assert_eq!(changes.map(Change::as_str), Change::NAMES);
    assert_eq!(changes.map(Change::rates), [rates; 5]);
}

#[test]
fn in_the_same_epoch_what_was_seen_still_counts() {
    for (epoch, limits) in [(0, 1), (1, 0)] {
        let mut flow = Flow::new(&LIMITS, NOW);
        for n in 0..9 {
            flow.observe(seen(Observed::Failed, n * 50), &LIMITS, at(n * 50));
        }
        let stored = Limiter {
            epoch,
            ..*flow.limiter()
        };
        flow.with(stored, at(450));
        let change = flow.observe(seen(Observed::Failed, 450), &LIMITS, at(450));
        assert_eq!(change.iter().count(), limits);
    }
}

#[test]
fn a_backlog_is_empty_when_it_was_attempted_at_the_rate() {
    assert_eq!(empty_at(300, 5000, NOW), at(60_000));
    assert_eq!(empty_at(0, 0, NOW), NOW);
    assert_eq!(empty_at(u64::MAX, 1, NOW), Timestamp::from_millis(i64::MAX));
}

#[derive(Clone, Debug)]
enum Call {
    Allow(AttemptKind, usize),
    Observe(Observed),
    Step(Waiting),
    Resume,
}

fn any_call() -> impl Strategy<Value = Call> {
    use Observed::{Delivered, Failed, Final, Overloaded, TooMany};
    let observed = prop::sample::select(vec![
        Delivered, Delivered, TooMany, Overloaded, Failed, Final,
    ]);
    prop_oneof![
        8 => (any::<bool>(), 0_usize..50).prop_map(|(first, want)| {
            Call::Allow(if first { AttemptKind::First } else { AttemptKind::Retry }, want)
        }),
        20 => observed.prop_map(Call::Observe),
        3 => Just(Call::Step(NOTHING)),
        3 => Just(Call::Step(retries_waiting())),
        1 => Just(Call::Resume),
    ]
}

fn any_limits() -> impl Strategy<Value = Limits> {
    (1_u32..=10_000, any::<bool>(), prop::option::of(1_u32..5000)).prop_map(
        |(retry_rate, ramp, max_rate)| Limits {
            retry_rate,
            ramp: if ramp { Ramp::On } else { Ramp::Off },
            max_rate,
            max_in_flight: None,
        },
    )
}

fn make(flow: &mut Flow, call: &Call, limits: &Limits, now: Timestamp) {
    match call {
        Call::Allow(kind, want) => {
            flow.allow(*kind, now, *want, limits, now);
        }
        Call::Observe(observed) => {
            let observation = Observation {
                began_at: now,
                ended_at: now,
                observed: *observed,
            };
            flow.observe(observation, limits, now);
        }
        Call::Step(waiting) => {
            flow.step(waiting, limits, now);
        }
        Call::Resume => flow.resumed(now),
    }
}

proptest! {
    #[test]
    fn the_rate_stays_within_its_bounds(
        limits in any_limits(),
        calls in prop::collection::vec((any_call(), 0_u64..300), 1..400),
    ) {
        let mut flow = Flow::new(&limits, NOW);
        let mut ms = 0;
        let most = limits.max_rate.map_or(CEILING_MILLI, |max| (max * MILLI).min(CEILING_MILLI));
        for (call, gap) in calls {
            ms += gap;
            make(&mut flow, &call, &limits, at(ms));
            prop_assert!((FLOOR_MILLI..=most).contains(&flow.current_rate_milli(&limits)));
            prop_assert!((FLOOR_MILLI..=most).contains(&flow.limiter().rate_milli));
        }
    }

    #[test]
    fn a_clock_a_day_ahead_for_one_call_delays_nothing_by_more_than_a_second(
        limits in any_limits(),
        calls in prop::collection::vec((any_call(), 0_u64..300), 1..200),
        jump in any_call(),
    ) {
        let mut flow = Flow::new(&limits, NOW);
        let mut ms = 0;
        for (call, gap) in calls {
            ms += gap;
            make(&mut flow, &call, &limits, at(ms));
        }
        make(&mut flow, &jump, &limits, at(ms + 86_400_000));
        make(&mut flow, &Call::Step(NOTHING), &limits, at(ms));
        for kind in [AttemptKind::First, AttemptKind::Retry] {
            prop_assert!(flow.ready_at(kind, at(ms), &limits, at(ms)) <= at(ms + 1000));
        }
        prop_assert_eq!(flow.limiter().not_after(at(ms)), *flow.limiter());
    }
}

/// A backlog that waits for its own maximum may last for ever.
#[test]
fn a_receiver_that_keeps_up_with_its_maximum_is_not_limited_for_longer() {
    let at_maximum = Limits {
        max_rate: Some(20),
        ..LIMITS
    };
    let without_slots = Limits {
        max_in_flight: Some(1),
        ..LIMITS
    };
    for (limits, wanted) in [(at_maximum, 1000), (without_slots, 0)] {
        let mut flow = limited(20);
        let mut change = None;
        for n in 0..=11 {
            for _ in 0..20 {
                flow.observe(seen(Observed::Delivered, n * 1000), &limits, at(n * 1000));
            }
            let asked_at = at(n * 1000 + 999);
            flow.allow(AttemptKind::First, NOW, wanted, &limits, asked_at);
            let waiting = Waiting {
                first_due_at: Some(NOW),
                retry_due_at: None,
            };
            change = change.or(flow.step(&waiting, &limits, at(n * 1000 + 1000)));
        }
        assert!(matches!(change, Some(Change::Opened(_))), "{change:?}");
    }
}
