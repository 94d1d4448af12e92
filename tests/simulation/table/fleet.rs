//! Thousands of webhooks on AWS at once.

use postrider_domain::time::Millis;
use postrider_flow_model::table::{Figure, Found, Row};

use crate::simulation::{FleetSize, recover_from_outage, share_with_hanging};

const FUNCTIONS: usize = 50;

pub(super) const HANGING: Row = Row {
    name: "hanging",
    case: "20 of 1,000 webhooks hang, AWS, 50 workers, from the 60th second on",
    bar: "the others' capacity at least 0.8 of without them",
    before: "calculated: 1,667/s without, 648/s with 5 and 245/s with 20 that hang",
    run: hanging,
};

pub(super) const BACKLOGS: Row = Row {
    name: "backlogs",
    case: "10,000 backlogs; all webhooks limited at once",
    bar: "every tick ends in time; all drained; the last webhook open within 5 minutes; at most two drains per webhook queued",
    before: "modelled: the hourly mark never ends; 83/s released of 1,000/s allowed",
    run: backlogs,
};

fn hanging() -> Found {
    let size = FleetSize {
        webhooks: 1_000,
        functions: FUNCTIONS,
    };
    let shared = share_with_hanging(size, 20, Millis::from_seconds(60));
    let kept = super::count(shared.percent());
    Found {
        figures: vec![Figure::new("20 hang", "capacity kept", kept, "%").at_least(80.0)],
        text: shared.to_string(),
    }
}

fn backlogs() -> Found {
    let size = FleetSize {
        webhooks: 10_000,
        functions: FUNCTIONS,
    };
    let recovery = recover_from_outage(size, Millis::from_seconds(600));
    let seconds = |span: Millis| super::count(span.get()) / 1_000.0;
    let open = recovery.all_open_after.map_or(f64::INFINITY, seconds);
    let left = super::count(recovery.rows - recovery.delivered);
    let figure =
        |name, value, unit, most| Figure::new("all limited", name, value, unit).at_most(most);
    let figures = vec![
        figure("longest tick", seconds(recovery.longest_tick), "s", 53.0),
        figure("not delivered", left, "", 0.0),
        figure("all open after", open, "s", 300.0),
        figure(
            "drains per webhook",
            super::count(recovery.most_drains),
            "",
            2.0,
        ),
    ];
    Found {
        figures,
        text: recovery.to_string(),
    }
}
