//! Receivers that no bar is set for: what the rules do elsewhere, when they are changed.

use super::{both_shapes, count, percent};
use crate::policy::Said;
use crate::receiver::{Capacity, Receiver};
use crate::scenario::{Load, Scenario};
use crate::table::{Figure, Found, Row};

pub const ROW: Row = Row {
    name: "more",
    case: "other receivers",
    bar: "none",
    before: "–",
    run: more,
};

fn more() -> Found {
    let mut figures = flaky();
    figures.extend(capacities());
    figures.extend(backlog());
    figures.extend(blip());
    figures.extend(bursts());
    figures.extend(rare());
    figures.into()
}

fn flaky() -> Vec<Figure> {
    let cases = [(500, 150), (500, 250), (50, 400)];
    let figures = cases.into_iter().flat_map(|(per_second, per_mille)| {
        let case = Scenario::new(per_second, Receiver::flaky(per_mille)).lasting(600, 600);
        let name = format!("{per_second}/s, {} of 503", percent(per_mille));
        both_shapes(&name, case, |of, report| {
            let wait = count(report.first_wait_ms(0, 600));
            vec![
                Figure::new(of, "delivered", report.delivered_per_second(30, 600), "/s"),
                Figure::new(of, "longest wait of a first attempt", wait, "ms"),
                Figure::new(of, "limited", count(report.entered), "times"),
            ]
        })
    });
    figures.collect()
}

const STRICT: Receiver = Receiver {
    capacity: Some(Capacity {
        per_second: 20,
        over: Said::TooMany,
        burst_ms: 100,
    }),
    ..Receiver::WELL
};

const fn line(per_second: u64) -> Receiver {
    Receiver {
        line_per_second: Some(per_second),
        ..Receiver::WELL
    }
}

fn capacities() -> Vec<Figure> {
    let of = Receiver::capacity;
    let cases = [
        ("strict capacity 20/s, 50/s", 50, 20.0, STRICT),
        ("capacity 20/s, 3 s", 50, 20.0, of(20, Said::TooMany, 3000)),
        ("capacity 3/s, 6/s", 6, 3.0, of(3, Said::TooMany, 80)),
        (
            "capacity 200/s (429), 500/s",
            500,
            200.0,
            of(200, Said::TooMany, 80),
        ),
        (
            "capacity 200/s (503), 500/s",
            500,
            200.0,
            of(200, Said::Unavailable, 80),
        ),
        (
            "capacity 1,000/s, 2,000/s",
            2000,
            1000.0,
            of(1000, Said::TooMany, 80),
        ),
        ("one at a time, 20/s, 50/s", 50, 20.0, line(20)),
        ("one at a time, 5/s, 8/s", 8, 5.0, line(5)),
    ];
    let figures = cases
        .into_iter()
        .flat_map(|(name, per_second, capacity, receiver)| {
            both_shapes(name, Scenario::new(per_second, receiver), |of, report| {
                let used = report.delivered_per_second(20, 300) * 100.0 / capacity;
                vec![
                    Figure::new(of, "used", used, "%"),
                    Figure::new(of, "rejected", report.failed_share(20, 300) * 100.0, "%"),
                    Figure::new(of, "limited", count(report.entered), "times"),
                ]
            })
        });
    figures.collect()
}

fn backlog() -> Vec<Figure> {
    let receiver = Receiver {
        outage: Receiver::down(Said::Refused, 0, 60).outage,
        ..Receiver::capacity(600, Said::TooMany, 80)
    };
    let case = Scenario::new(500, receiver).lasting(420, 420);
    both_shapes(
        "capacity 600/s, 500/s after a minute down",
        case,
        |of, report| {
            vec![
                Figure::new(of, "used", report.delivered_per_second(80, 420) / 6.0, "%"),
                Figure::new(of, "rejected", report.failed_share(80, 420) * 100.0, "%"),
                Figure::new(of, "limited", count(report.entered), "times"),
                Figure::new(of, "left", count(report.open), ""),
            ]
        },
    )
}

fn blip() -> Vec<Figure> {
    let case = Scenario::new(500, Receiver::down(Said::Unavailable, 60, 63)).lasting(120, 120);
    both_shapes("3 s of 503 at 500/s", case, |of, report| {
        let delivered = report.delivered_per_second(63, 93) / 5.0;
        vec![
            Figure::new(of, "delivered in the next 30 s", delivered, "%"),
            Figure::new(
                of,
                "longest wait",
                count(report.first_wait_ms(60, 93)),
                "ms",
            ),
            Figure::new(of, "later", count(report.first_wait_ms(93, 120)), "ms"),
        ]
    })
}

fn bursts() -> Vec<Figure> {
    let figures = [20, 40, 200].into_iter().flat_map(|capacity| {
        let receiver = Receiver::capacity(capacity, Said::TooMany, 80);
        let case = Scenario {
            load: Load::Bursts(1000),
            ..Scenario::new(1, receiver).lasting(600, 660)
        };
        let name = format!("1,000 at once each minute, capacity {capacity}/s");
        both_shapes(&name, case, |of, report| {
            vec![
                Figure::new(of, "rejected", report.failed_share(0, 660) * 100.0, "%"),
                Figure::new(of, "delivered", count(report.delivered), ""),
                Figure::new(of, "limited", count(report.entered), "times"),
            ]
        })
    });
    figures.collect()
}

fn rare() -> Vec<Figure> {
    let case = Scenario {
        load: Load::PerMinute(1),
        ..Scenario::new(1, Receiver::down(Said::Refused, 0, 3600)).lasting(7200, 7200)
    };
    both_shapes(
        "one event per minute, down for an hour",
        case,
        |of, report| {
            let wait = count(report.first_wait_ms(0, 7200));
            vec![Figure::new(of, "longest wait", wait, "ms")]
        },
    )
}
