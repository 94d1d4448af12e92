//! The results of all cases at full length: embedded and AWS, each as the range over the seeds.

use postrider_domain::retry::Profile;

use crate::policy::Said;
use crate::receiver::{Capacity, Receiver};
use crate::report::Report;
use crate::scenario::{Load, Scenario, Shape};
use crate::simulation::run;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;

type Figure = (&'static str, f64);

fn row(name: &str, case: Scenario, figures: impl Fn(&Report) -> Vec<Figure>) {
    for shape in [Shape::Embedded, Shape::Aws] {
        let runs: Vec<_> = SEEDS
            .map(|seed| figures(&run(case.on(shape).seeded(seed))))
            .collect();
        let ranges: Vec<_> = (0..runs[0].len()).map(|n| range(&runs, n)).collect();
        println!("| {name} | {shape:?} | {} |", ranges.join(", "));
    }
}

fn range(runs: &[Vec<Figure>], n: usize) -> String {
    let values = || runs.iter().map(|run| run[n].1);
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let digits = usize::from(most < 10.0 && most.fract() != 0.0);
    let [least, most] = [least, most].map(|value| format!("{value:.digits$}"));
    let range = if least == most {
        least
    } else {
        format!("{least}–{most}")
    };
    format!("{}: {range}", runs[0][n].0)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a simulation")]
const fn count(value: u64) -> f64 {
    value as f64
}

#[test]
#[ignore = "prints the whole table"]
fn table() {
    flaky();
    overloaded();
    other_capacities();
    bursts();
    rare();
    down();
    failing();
}

fn flaky() {
    for (rate, per_mille) in [
        (50, 5),
        (50, 50),
        (500, 5),
        (500, 50),
        (50, 150),
        (50, 250),
        (500, 150),
        (500, 250),
        (50, 400),
    ] {
        let case = Scenario::new(rate, Receiver::flaky(per_mille)).lasting(600, 600);
        let name = format!("{rate}/s, {per_mille}‰ of 503");
        row(&name, case, |report| {
            vec![
                ("delivered/s", report.delivered_per_second(30, 600)),
                (
                    "longest wait of a first attempt, ms",
                    count(report.first_wait_ms(0, 600)),
                ),
                ("of a retry, ms", count(report.retry_wait_ms(0, 590))),
                ("entered", count(report.entered)),
            ]
        });
    }
}

fn overloaded() {
    for profile in [Profile::Standard, Profile::Gateway] {
        for over in [Said::TooMany, Said::Unavailable] {
            for latency in [80, 1000, 3000] {
                let case = Scenario::new(50, Receiver::capacity(20, over, latency))
                    .under(profile)
                    .lasting(300, 900);
                let name =
                    format!("capacity 20/s, 50/s for 5 min, {over:?}, {latency} ms, {profile:?}");
                row(&name, case, |report| {
                    vec![
                        ("used %", report.delivered_per_second(20, 300) * 5.0),
                        ("rejected %", report.failed_share(20, 300) * 100.0),
                        ("then used %", report.delivered_per_second(300, 650) * 5.0),
                        ("rejected %", report.failed_share(300, 650) * 100.0),
                        ("dead", count(report.dead)),
                    ]
                });
            }
        }
    }
}

fn other_capacities() {
    let strict = Receiver {
        capacity: Some(Capacity {
            per_second: 20,
            over: Said::TooMany,
            burst_ms: 100,
        }),
        ..Receiver::WELL
    };
    let line = |per_second| Receiver {
        line_per_second: Some(per_second),
        ..Receiver::WELL
    };
    let of = |capacity, over| Receiver::capacity(capacity, over, 80);
    for (name, rate, capacity, receiver) in [
        ("strict capacity 20/s, 50/s", 50, 20.0, strict),
        ("capacity 3/s, 6/s", 6, 3.0, of(3, Said::TooMany)),
        (
            "capacity 200/s (429), 500/s",
            500,
            200.0,
            of(200, Said::TooMany),
        ),
        (
            "capacity 200/s (503), 500/s",
            500,
            200.0,
            of(200, Said::Unavailable),
        ),
        (
            "capacity 1,000/s, 2,000/s",
            2000,
            1000.0,
            of(1000, Said::TooMany),
        ),
        ("line of 20/s, 50/s", 50, 20.0, line(20)),
        ("line of 5/s, 8/s", 8, 5.0, line(5)),
    ] {
        row(name, Scenario::new(rate, receiver), |report| {
            vec![
                (
                    "used %",
                    report.delivered_per_second(20, 300) * 100.0 / capacity,
                ),
                ("rejected %", report.failed_share(20, 300) * 100.0),
                ("entered", count(report.entered)),
            ]
        });
    }
    let backlog = Receiver {
        outage: Receiver::down(Said::Refused, 0, 60).outage,
        ..Receiver::capacity(600, Said::TooMany, 80)
    };
    let case = Scenario::new(500, backlog).lasting(420, 420);
    row(
        "capacity 600/s, 500/s after a minute down",
        case,
        |report| {
            vec![
                ("used %", report.delivered_per_second(80, 420) / 6.0),
                ("rejected %", report.failed_share(80, 420) * 100.0),
                ("entered", count(report.entered)),
                ("left", count(report.open)),
            ]
        },
    );
}

fn bursts() {
    let blip = Receiver::down(Said::Unavailable, 60, 63);
    let case = Scenario::new(500, blip).lasting(120, 120);
    row("3 s of 503 at 500/s", case, |report| {
        vec![
            (
                "delivered in the 30 s after %",
                report.delivered_per_second(63, 93) / 5.0,
            ),
            ("longest wait, ms", count(report.first_wait_ms(60, 93))),
            ("later, ms", count(report.first_wait_ms(93, 120))),
        ]
    });
    for capacity in [20, 40, 200] {
        let receiver = Receiver::capacity(capacity, Said::TooMany, 80);
        let case = Scenario {
            load: Load::Bursts(1000),
            ..Scenario::new(1, receiver).lasting(600, 660)
        };
        row(
            &format!("1,000 at once each minute, capacity {capacity}/s"),
            case,
            |report| {
                vec![
                    ("rejected %", report.failed_share(0, 660) * 100.0),
                    ("delivered", count(report.delivered)),
                    ("entered", count(report.entered)),
                ]
            },
        );
    }
}

fn rare() {
    let case = Scenario {
        load: Load::PerMinute(1),
        ..Scenario::new(1, Receiver::down(Said::Refused, 0, 3600)).lasting(7200, 7200)
    };
    row("1 event per minute, down 1 h", case, |report| {
        vec![("longest wait, ms", count(report.first_wait_ms(0, 7200)))]
    });
}

fn down() {
    for profile in [Profile::Standard, Profile::Gateway] {
        for by in [Said::Timeout, Said::Refused] {
            let case = Scenario::new(500, Receiver::down(by, 60, 660))
                .under(profile)
                .lasting(1860, 1860);
            row(
                &format!("down 10 min at 500/s, {by:?}, {profile:?}"),
                case,
                |report| {
                    vec![
                        ("left 20 min after", count(report.open - report.in_flight)),
                        ("attempts while down", count(report.attempts(60, 660))),
                        (
                            "late in the 1st minute %",
                            report.late_share(660, 720) * 100.0,
                        ),
                        (
                            "longest wait later, ms",
                            count(report.first_wait_ms(720, 1855)),
                        ),
                        (
                            "most retries in a second",
                            count(report.most_retries_in_a_second as u64),
                        ),
                        ("dead", count(report.dead)),
                    ]
                },
            );
        }
    }
}

fn failing() {
    for by in [Said::Timeout, Said::Refused] {
        let case = Scenario::new(50, Receiver::down(by, 0, 9000))
            .under(Profile::PublicApi)
            .lasting(5400, 5400);
        row(
            &format!("public-api down at 50/s, {by:?}"),
            case,
            |report| {
                let minutes = report.first_dead_s.map_or(f64::NAN, |s| count(s) / 60.0);
                vec![("first delivery exhausted, min", minutes)]
            },
        );
    }
}
