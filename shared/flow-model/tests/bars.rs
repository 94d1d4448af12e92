//! What the limiter must achieve, in short forms of the table's cases.

use postrider_domain::retry::Profile;
use postrider_flow_model::policy::Said;
use postrider_flow_model::receiver::Receiver;
use postrider_flow_model::report::Report;
use postrider_flow_model::run;
use postrider_flow_model::scenario::{Scenario, Shape};

/// Both shapes, each with its name.
fn each(case: Scenario, bar: impl Fn(&str, &Report)) {
    for shape in [Shape::Embedded, Shape::Aws] {
        let case = case.on(shape);
        bar(&format!("{case:?}"), &run(case));
    }
}

#[test]
fn no_first_attempt_waits_for_a_receiver_that_fails_a_few_per_cent() {
    for (per_second, seconds) in [(50, 120), (500, 40)] {
        for per_mille in [5, 50] {
            let case = Scenario::new(per_second, Receiver::flaky(per_mille));
            each(case.lasting(seconds, seconds), |name, report| {
                assert_eq!(report.first_wait_ms(0, seconds), 0, "{name}");
                assert!(report.retry_wait_ms(0, seconds) <= 2000, "{name}");
            });
        }
    }
}

#[test]
fn no_first_attempt_waits_long_for_a_receiver_that_fails_a_quarter() {
    for per_mille in [150, 250] {
        for seed in [1, 2, 3] {
            let case = Scenario::new(50, Receiver::flaky(per_mille)).seeded(seed);
            each(case, |name, report| {
                assert!(report.first_wait_ms(0, 300) <= 10_000, "{name}");
            });
        }
    }
}

#[test]
fn a_receiver_that_recovers_gets_its_rate_back_though_it_fails_a_quarter() {
    let receiver = Receiver {
        outage: Receiver::down(Said::Unavailable, 60, 63).outage,
        ..Receiver::flaky(250)
    };
    each(Scenario::new(50, receiver), |name, report| {
        assert_eq!(report.first_wait_ms(120, 300), 0, "{name}");
    });
}

#[test]
fn an_overloaded_receiver_is_used_but_not_flooded() {
    for over in [Said::TooMany, Said::Unavailable] {
        for latency in [80, 1000] {
            for profile in [Profile::Standard, Profile::Gateway] {
                let receiver = Receiver::capacity(20, over, latency);
                let case = Scenario::new(50, receiver).under(profile);
                each(case.lasting(300, 400), |name, report| {
                    assert!(report.delivered_per_second(20, 300) >= 17.0, "{name}");
                    assert!(report.failed_share(20, 300) <= 0.2, "{name}");
                    assert!(report.delivered_per_second(300, 400) >= 17.0, "{name}");
                    assert!(report.failed_share(300, 400) <= 0.2, "{name}");
                    assert_eq!(report.dead, 0, "{name}");
                });
            }
        }
    }
}

#[test]
fn a_slow_receiver_is_not_cut_for_answers_to_an_earlier_rate() {
    for over in [Said::TooMany, Said::Unavailable] {
        let case = Scenario::new(50, Receiver::capacity(20, over, 3000));
        each(case, |name, report| {
            assert!(report.delivered_per_second(60, 300) >= 17.0, "{name}");
            assert!(report.failed_share(60, 300) <= 0.2, "{name}");
        });
    }
}

#[test]
fn a_backlog_is_delivered_soon_after_an_outage() {
    for by in [Said::Timeout, Said::Refused] {
        for profile in [Profile::Standard, Profile::Gateway] {
            let case = Scenario::new(500, Receiver::down(by, 10, 40)).under(profile);
            each(case.lasting(140, 140), |name, report| {
                let left = report.open - report.in_flight;
                assert!(left <= report.attempts(10, 40), "{name}: {left} left");
                assert!(report.first_wait_ms(100, 138) <= 2000, "{name}");
                if profile == Profile::Gateway {
                    assert!(report.most_retries_in_a_second <= 5, "{name}");
                }
            });
        }
    }
}

#[test]
fn a_receiver_that_refuses_connections_is_not_hammered() {
    let case = Scenario::new(500, Receiver::down(Said::Refused, 10, 70));
    each(case.lasting(70, 70), |name, report| {
        assert!(report.attempts(10, 70) <= 500, "{name}");
    });
}

#[test]
fn a_webhook_that_opens_with_a_backlog_does_not_flap() {
    let receiver = Receiver {
        outage: Receiver::down(Said::Refused, 0, 20).outage,
        ..Receiver::capacity(600, Said::TooMany, 80)
    };
    each(
        Scenario::new(500, receiver).lasting(120, 120),
        |name, report| {
            assert!(report.entered <= 3, "{name}: {}", report.entered);
            assert!(report.delivered_per_second(60, 120) >= 480.0, "{name}");
        },
    );
}

#[test]
fn a_receiver_that_fails_a_quarter_of_many_is_not_limited() {
    for seed in 1..=4 {
        let case = Scenario::new(500, Receiver::flaky(250)).seeded(seed);
        let report = run(case.on(Shape::Aws));
        assert_eq!(report.entered, 0, "{case:?}");
    }
}

#[test]
fn a_clock_a_day_ahead_for_one_call_holds_nothing_up() {
    let case = Scenario::new(50, Receiver::down(Said::Unavailable, 10, 40)).lasting(240, 240);
    let longest = |case: Scenario| {
        let report = run(case);
        let first = report.first_wait_ms(0, 240);
        first.max(report.retry_wait_ms(0, 240))
    };
    for shape in [Shape::Embedded, Shape::Aws] {
        let right = longest(case.on(shape));
        for second in [5, 11, 30, 41, 50, 100] {
            let ahead = longest(case.on(shape).with_clock_ahead_at(second));
            assert!(ahead <= right + 60_000, "{shape:?} at {second} s");
        }
    }
}

#[test]
fn the_owner_of_a_public_api_webhook_is_notified_in_time() {
    for by in [Said::Timeout, Said::Refused] {
        let case = Scenario::new(50, Receiver::down(by, 0, 9000)).under(Profile::PublicApi);
        each(case.lasting(4500, 4500), |name, report| {
            let first_dead_s = report.first_dead_s;
            assert!(first_dead_s.is_some_and(|s| s <= 75 * 60), "{name}");
        });
    }
}
