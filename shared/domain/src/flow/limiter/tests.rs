use super::super::Ramp;
use super::*;
use crate::time::Millis;

const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);
const LIMITS: Limits = Limits {
    retry_rate: 5,
    ramp: Ramp::On,
    max_rate: None,
    max_in_flight: None,
};

#[test]
fn a_limiter_survives_being_stored() {
    let limiter = Limiter::new(&LIMITS, NOW).entered(Symptom::Overloaded, 40_000, &LIMITS, NOW);
    let stored = serde_json::to_string(&limiter).unwrap();
    assert_eq!(serde_json::from_str::<Limiter>(&stored).unwrap(), limiter);
}

#[test]
fn fields_of_other_versions_are_skipped() {
    let stored = r#"{ "limited": true, "rate_milli": 7000, "colour": "blue" }"#;
    let read: Limiter = serde_json::from_str(stored).unwrap();
    assert!(read.limited);
    assert_eq!((read.rate_milli, read.epoch), (7000, 0));
}

#[test]
fn a_webhook_is_limited_to_half_of_what_it_answered() {
    let limiter = Limiter::new(&LIMITS, NOW);
    assert_eq!(
        limiter
            .entered(Symptom::Overloaded, 40_000, &LIMITS, NOW)
            .rate_milli,
        20_000
    );
    let barely = limiter.entered(Symptom::Overloaded, 1000, &LIMITS, NOW);
    assert_eq!(barely.rate_milli, 10_000);
    let down = limiter.entered(Symptom::Down, 0, &LIMITS, NOW);
    assert_eq!(down.rate_milli, PROBE_MILLI);
    assert_eq!(
        limiter
            .entered(Symptom::Overloaded, 40_000, &LIMITS, NOW)
            .epoch,
        1
    );
}

#[test]
fn a_resumed_webhook_gets_one_attempt_per_second() {
    let resumed = Limiter::new(&LIMITS, NOW).resumed(NOW);
    assert!(resumed.limited);
    assert_eq!((resumed.rate_milli, resumed.epoch), (FLOOR_MILLI, 1));
}

#[test]
fn times_in_the_future_count_as_now() {
    let tomorrow = NOW.plus(Millis::from_seconds(86_400));
    let limiter = Limiter::new(&LIMITS, tomorrow)
        .opened(5000, tomorrow)
        .not_after(NOW);
    assert_eq!(
        [limiter.changed_at, limiter.opened_at, limiter.waited_at],
        [NOW; 3]
    );
}

#[test]
fn changed_settings_count_at_once() {
    let limiter = Limiter::new(&LIMITS, NOW).entered(Symptom::Overloaded, 400_000, &LIMITS, NOW);
    let capped = Limits {
        max_rate: Some(50),
        ..LIMITS
    };
    assert_eq!(limiter.current_rate_milli(&capped), 50_000);
    let fixed = Limits {
        ramp: Ramp::Off,
        ..LIMITS
    };
    assert_eq!(limiter.current_rate_milli(&fixed), 200_000);
    assert_eq!(limiter.retry_rate_milli(&fixed), 5000);
}

/// A limiter in which every field has a value of its own.
fn known() -> Limiter {
    let at = |ms| Timestamp::from_millis(ms);
    Limiter {
        limited: true,
        rate_milli: 7000,
        good_milli: Some(6000),
        base: Some(800),
        changed_at: at(1),
        opened_at: at(2),
        calm_since: Some(at(3)),
        waited_at: at(4),
        epoch: 5,
    }
}

#[test]
fn each_change_replaces_what_is_no_longer_known_and_keeps_the_rest() {
    let fresh = Limiter {
        good_milli: None,
        base: None,
        changed_at: NOW,
        calm_since: None,
        waited_at: NOW,
        epoch: 6,
        ..known()
    };
    let resumed = Limiter {
        rate_milli: FLOOR_MILLI,
        ..fresh
    };
    let open = Limiter {
        limited: false,
        ..known()
    };
    assert_eq!(open.resumed(NOW), resumed);
    let entered = Limiter {
        rate_milli: 20_000,
        ..fresh
    };
    let symptom = Symptom::Overloaded;
    assert_eq!(open.entered(symptom, 40_000, &LIMITS, NOW), entered);
    let paused = Limiter {
        epoch: 6,
        ..known()
    };
    assert_eq!(known().paused(), paused);
    let cut = Limiter {
        rate_milli: 3000,
        good_milli: Some(2000),
        base: None,
        changed_at: NOW,
        calm_since: None,
        ..known()
    };
    assert_eq!(known().cut(3000, Some(2000), NOW), cut);
    let raised = Limiter {
        rate_milli: 9000,
        changed_at: NOW,
        ..known()
    };
    assert_eq!(known().raised(9000, NOW), raised);
    let opened = Limiter {
        limited: false,
        rate_milli: 9000,
        good_milli: Some(9000),
        base: None,
        changed_at: NOW,
        opened_at: NOW,
        calm_since: None,
        epoch: 6,
        ..known()
    };
    assert_eq!(known().opened(9000, NOW), opened);
    let forgotten = Limiter {
        rate_milli: 5000,
        good_milli: None,
        ..opened
    };
    assert_eq!(known().reset(&LIMITS, NOW), forgotten);
    let open_forgotten = Limiter {
        rate_milli: 5000,
        good_milli: None,
        base: None,
        ..open
    };
    assert_eq!(open.reset(&LIMITS, NOW), open_forgotten);
}

#[test]
fn each_time_in_the_future_counts_as_now() {
    let now = Timestamp::ZERO;
    let expected = Limiter {
        changed_at: now,
        opened_at: now,
        calm_since: Some(now),
        waited_at: now,
        ..known()
    };
    assert_eq!(known().not_after(now), expected);
    assert_eq!(known().not_after(NOW), known());
}
