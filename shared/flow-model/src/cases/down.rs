//! A receiver that answers nothing for a while.

use postrider_domain::retry::Profile;

use super::{both_shapes, count};
use crate::policy::Said;
use crate::receiver::Receiver;
use crate::report::Report;
use crate::scenario::Scenario;
use crate::table::{Figure, Found, Row};

pub const TEN_MINUTES: Row = Row {
    name: "down",
    case: "down 10 minutes at 500/s by timeouts, and by refused connections; then well; `standard` and `gateway`",
    bar: "all but the probes delivered within 20 minutes; a minute after recovery first attempts wait at most 2 s; `gateway`: at \
          most 5 retries in any second",
    before: "calculated: 300,000 retries at 5/s take 17 hours",
    run: ten_minutes,
};

pub const PUBLIC_API: Row = Row {
    name: "public-api",
    case: "`public-api` down at 50/s",
    bar: "the webhook is failed and its owner told within 75 minutes",
    before: "modelled, with the first draft of these rules: no delivery had more than 2 attempts in 2.5 hours, so never",
    run: public_api,
};

fn ten_minutes() -> Found {
    let mut figures = Vec::new();
    for profile in [Profile::Standard, Profile::Gateway] {
        for by in [Said::Timeout, Said::Refused] {
            let case = Scenario::new(500, Receiver::down(by, 60, 660))
                .under(profile)
                .lasting(1860, 1860);
            let name = format!("{profile:?}, {by:?}");
            let of_profile = |of: &str, report: &Report| match profile {
                Profile::Gateway => with_retries(of, report),
                Profile::Standard | Profile::PublicApi | Profile::Custom => recovered(of, report),
            };
            figures.extend(both_shapes(&name, case, of_profile));
        }
    }
    figures.into()
}

fn recovered(of: &str, report: &Report) -> Vec<Figure> {
    let left = report.open - report.in_flight;
    let probes = report.attempts(60, 660);
    let wait = count(report.first_wait_ms(720, 1855));
    let late = report.late_share(660, 720) * 100.0;
    vec![
        Figure::new(
            of,
            "left, besides probes",
            count(left.saturating_sub(probes)),
            "",
        )
        .at_most(0.0),
        Figure::new(of, "longest wait of a first attempt", wait, "ms").at_most(2000.0),
        Figure::new(of, "late in the first minute", late, "%"),
        Figure::new(of, "probes", count(probes), ""),
        Figure::new(of, "dead", count(report.dead), ""),
    ]
}

fn with_retries(of: &str, report: &Report) -> Vec<Figure> {
    let most = count(report.most_retries_in_a_second as u64);
    let mut figures = recovered(of, report);
    figures.push(Figure::new(of, "most retries in a second", most, "").at_most(5.0));
    figures
}

/// The first delivery that is exhausted fails the webhook, and that notifies its owner.
fn public_api() -> Found {
    let figures = [Said::Timeout, Said::Refused].into_iter().flat_map(|by| {
        let case = Scenario::new(50, Receiver::down(by, 0, 9000))
            .under(Profile::PublicApi)
            .lasting(5400, 5400);
        both_shapes(&format!("{by:?}"), case, |of, report| {
            let failed_at_s = report.first_dead_s.map_or(f64::INFINITY, count);
            vec![Figure::new(of, "failed after", failed_at_s / 60.0, "min").at_most(75.0)]
        })
    });
    figures.collect::<Vec<_>>().into()
}
