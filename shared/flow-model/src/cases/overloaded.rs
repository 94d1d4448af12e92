//! A receiver that gets more than it can take.

use postrider_domain::retry::Profile;

use super::{both_shapes, count};
use crate::policy::Said;
use crate::receiver::Receiver;
use crate::scenario::Scenario;
use crate::table::{Figure, Found, Row};

pub const ROW: Row = Row {
    name: "overloaded",
    case: "capacity 20/s (429, and 503, above it), latency 80 ms and 1 s, 50/s for 5 minutes; `standard` and `gateway`",
    bar: "after 20 s at least 85 % of the capacity used and at most 20 % rejected; then the backlog drains at 85 % or more; \
          none dead",
    before: "measured at capacity 15/s, 40/s offered: 33 % used, 735 of 1,200 delivered two minutes after the load ended; \
             `Retry-After: 7` used up ten attempts in 70 s",
    run: overloaded,
};

fn overloaded() -> Found {
    let mut figures = Vec::new();
    for profile in [Profile::Standard, Profile::Gateway] {
        for over in [Said::TooMany, Said::Unavailable] {
            for latency_ms in [80, 1000] {
                figures.extend(case(profile, over, latency_ms));
            }
        }
    }
    figures.into()
}

fn case(profile: Profile, over: Said, latency_ms: u64) -> Vec<Figure> {
    let case = Scenario::new(50, Receiver::capacity(20, over, latency_ms))
        .under(profile)
        .lasting(300, 900);
    let name = format!("{profile:?}, {over:?}, {latency_ms} ms");
    both_shapes(&name, case, |of, report| {
        let used = |from, until| report.delivered_per_second(from, until) * 5.0;
        let rejected = |from, until| report.failed_share(from, until) * 100.0;
        vec![
            Figure::new(of, "used", used(20, 300), "%").at_least(85.0),
            Figure::new(of, "rejected", rejected(20, 300), "%").at_most(20.0),
            Figure::new(of, "then used", used(300, 650), "%").at_least(85.0),
            Figure::new(of, "then rejected", rejected(300, 650), "%").at_most(20.0),
            Figure::new(of, "dead", count(report.dead), "").at_most(0.0),
        ]
    })
}
