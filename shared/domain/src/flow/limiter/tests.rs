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
