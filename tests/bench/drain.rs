//! A start with many waiting deliveries: how soon events are accepted, and how fast the backlog goes out.

use std::path::Path;
use std::time::Instant;

use bytes::Bytes;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::event::Event;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;
use postrider_ports::configs::{Created, Webhooks};
use postrider_ports::deliveries::{Accepted, Deliveries};
use postrider_testkit::builders;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::message;
use crate::plan::Plan;
use crate::report::{Bar, Report};
use crate::scale::Scale;

const OF: &str = "A start with waiting deliveries";
/// Events that are stored together.
const BATCH: u64 = 500;

pub(crate) async fn measure(
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    scale: &Scale,
    report: &mut Report,
) {
    let data = tempfile::tempdir_in(disk).unwrap();
    store(data.path(), &arrivals.url(0), plan.waiting).await;
    let (began, began_at) = (Instant::now(), message::now());
    let gateway = Gateway::start_over(data).await;
    let ready = began.elapsed().as_secs_f64();
    let count = arrivals.wait(1, plan.waiting).await[0];
    let took = count.last_new_at.saturating_sub(began_at) as f64 / 1e6;
    let rate = plan.waiting as f64 / took;
    let mut of = report.of(OF);
    of.expect_all(plan.waiting, count.distinct);
    of.measurement("waiting", plan.waiting as f64, "rows");
    of.against(Bar::AtMost(1.0), "ready to accept after", ready, "s");
    of.measurement("delivered", rate, "/s");
    of.against(
        Bar::AtLeast(0.3),
        "delivered ÷ bare client",
        rate / scale.bare.rate,
        "",
    );
    gateway.stop().await;
    arrivals.forget().await;
}

/// Stores deliveries that are due and that nothing has claimed.
async fn store(data: &Path, url: &str, rows: u64) {
    let store = SqliteStore::open(data, SqliteOptions::default()).unwrap();
    let tenant = TenantId::default();
    let mut webhook = builders::webhook(&tenant, 1);
    webhook.settings.target_url = url.parse().unwrap();
    let id = webhook.id;
    assert_eq!(store.create_webhook(webhook).await, Ok(Created::Done));
    let version = store.webhooks_version(&tenant).await.unwrap();
    for first in (0..rows).step_by(BATCH as usize) {
        let events = (first..rows.min(first + BATCH)).map(|number| {
            let now = message::now();
            let at = Timestamp::from_millis(i64::try_from(now / 1000).unwrap());
            let event = Event {
                body: Bytes::from(message::payload(number, now)),
                ..builders::event(&tenant, u32::try_from(number).unwrap(), at)
            };
            builders::acceptance(event, &[id], version)
        });
        let accepted = store.accept(events.collect()).await;
        assert!(accepted.iter().all(|one| *one == Ok(Accepted::New)));
    }
}
