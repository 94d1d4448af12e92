//! The cost of an accept, a query for due rows, a claim, a page of the list and a start when many delivered rows are stored.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::decide::Transition;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::configs::{Created, Webhooks};
use postrider_ports::deliveries::{
    Accepted, Applied, Claim, ClaimedDelivery, Deliveries, Seen, Wanted,
};
use postrider_ports::history::{Filter, History};
use postrider_ports::schedule::{Ask, Schedule};
use postrider_ports::start_now::{AcceptClaimed, Planned, Reservation};
use postrider_testkit::builders::{self, NOW};
use tempfile::TempDir;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::inspected::{self, Inspected};
use crate::plan::Plan;
use crate::report::{Bar, Report};
use crate::samples::Samples;

const OF: &str = "Delivered rows in the table, many ÷ 1,000";
const FEW: u32 = 1000;
/// Rows that are stored together.
const BATCH: u32 = 500;
/// Rows that are claimed together.
const CLAIMED: u32 = 32;
const ROUNDS: usize = 15;
const LOOKS: usize = 20;
const PAGE: usize = 50;
const BAR: Bar = Bar::AtMost(1.1);
/// Deliveries that are due when a gateway starts over the many rows.
const DUE: u32 = 10_000;

pub(crate) async fn measure(plan: &Plan, disk: &Path, arrivals: &Arrivals, report: &mut Report) {
    let url = arrivals.url(0);
    let mut few = Stored::open(disk, &url, FEW).await;
    let mut many = Stored::open(disk, &url, plan.many_rows).await;
    let mut few_pages = few.inspected().await;
    let mut many_pages = many.inspected().await;
    // Alternating, so that other load on the machine affects both.
    for _ in 0..ROUNDS {
        few.round().await;
        many.round().await;
        few_pages.round().await;
        many_pages.round().await;
    }
    let mut of = report.of(OF);
    of.measurement("many", f64::from(plan.many_rows), "rows");
    let (few, many_costs) = (few.costs, std::mem::take(&mut many.costs));
    let ratio = many_costs.accept.p50_ms() / few.accept.p50_ms();
    of.measurement("accept, 1,000 rows, p50", few.accept.p50_ms(), "ms");
    of.against(BAR, "accept, many ÷ 1,000", ratio, "");
    let ratio = many_costs.page.p50_ms() / few.page.p50_ms();
    of.measurement("page of 50, 1,000 rows, p50", few.page.p50_ms(), "ms");
    of.against(BAR, "page of 50, many ÷ 1,000", ratio, "");
    let ratio = many_costs.look.p50_ms() / few.look.p50_ms();
    of.measurement(
        "query for due rows, 1,000 rows, p50",
        few.look.p50_ms(),
        "ms",
    );
    of.against(BAR, "query for due rows, many ÷ 1,000", ratio, "");
    let ratio = many_costs.claim.p50_ms() / few.claim.p50_ms();
    of.measurement("claim of 32, 1,000 rows, p50", few.claim.p50_ms(), "ms");
    of.against(BAR, "claim of 32, many ÷ 1,000", ratio, "");
    inspected::compare(&few_pages, &many_pages, report);
    drop((few_pages, many_pages));
    start(many, report).await;
    arrivals.forget().await;
}

/// How soon a gateway that starts with many rows, some of them due, accepts events.
async fn start(mut many: Stored, report: &mut Report) {
    for _ in 0..DUE / BATCH {
        many.accept(BATCH, Free::Yes).await;
    }
    let directory = many.close();
    let began = Instant::now();
    let gateway = Gateway::start_over(directory).await;
    let ready = began.elapsed().as_secs_f64();
    gateway.kill().await;
    report.of(OF).against(
        Bar::AtMost(1.0),
        "start with many rows, 10,000 due: ready to accept after",
        ready,
        "s",
    );
}

/// How long each operation took.
#[derive(Default)]
struct Costs {
    accept: Samples,
    page: Samples,
    look: Samples,
    claim: Samples,
}

/// A store with delivered rows, and the cost of each operation there.
struct Stored {
    store: Arc<SqliteStore>,
    tenant: TenantId,
    webhook: WebhookId,
    version: u64,
    rows: u32,
    costs: Costs,
    directory: TempDir,
}

impl Stored {
    async fn open(disk: &Path, url: &str, rows: u32) -> Self {
        let directory = tempfile::tempdir_in(disk).unwrap();
        let store = SqliteStore::open(directory.path(), SqliteOptions::default()).unwrap();
        let tenant = TenantId::default();
        let mut webhook = builders::webhook(&tenant, 1);
        webhook.settings.target_url = url.parse().unwrap();
        let created = store.create_webhook(webhook.clone()).await.unwrap();
        assert_eq!(created, Created::Done);
        let mut stored = Self {
            version: store.webhooks_version(&tenant).await.unwrap(),
            store,
            tenant,
            webhook: webhook.id,
            rows: 0,
            costs: Costs::default(),
            directory,
        };
        while stored.rows < rows {
            let fresh = stored.accept(BATCH, Free::No).await;
            stored.deliver(fresh).await;
        }
        stored
    }

    /// Closes the store; returns where it is.
    fn close(self) -> TempDir {
        drop(Arc::into_inner(self.store).expect("nothing else uses the store"));
        self.directory
    }

    /// The Inspector over this store.
    async fn inspected(&self) -> Inspected {
        let event = builders::event_id(self.rows);
        let webhook = self.webhook;
        Inspected::over(&self.store, self.now(), DeliveryId { event, webhook }).await
    }

    /// When the newest row was accepted.
    fn now(&self) -> Timestamp {
        NOW.plus(Millis::new(u64::from(self.rows)))
    }

    async fn accept(&mut self, count: u32, free: Free) -> Vec<ClaimedDelivery> {
        let mut planned = Vec::new();
        for _ in 0..count {
            self.rows += 1;
            let event = builders::event(&self.tenant, self.rows, self.now());
            let acceptance = builders::acceptance(event, &[self.webhook], self.version);
            let reservation = Reservation {
                webhook: self.webhook,
                lease: self.lease(self.rows),
            };
            let reserved = match free {
                Free::No => vec![reservation],
                Free::Yes => Vec::new(),
            };
            planned.push(Planned {
                acceptance,
                reserved,
            });
        }
        let answers = self.store.accept_claimed(planned).await.into_iter();
        answers
            .flat_map(|answer| {
                let Ok((Accepted::New, claimed)) = answer else {
                    panic!("{answer:?}");
                };
                claimed
            })
            .collect()
    }

    fn lease(&self, claim: u32) -> postrider_domain::delivery::Lease {
        let until = self.now().plus(Millis::from_seconds(20));
        builders::lease(self.store.process(), u64::from(claim), until)
    }

    async fn deliver(&self, deliveries: Vec<ClaimedDelivery>) {
        let now = self.now();
        let applied = deliveries.iter().map(|delivery| {
            let completion = builders::completion(&delivery.claimed, Transition::Deliver, now);
            self.store.apply(&delivery.claimed, completion, now)
        });
        for answer in join_all(applied).await {
            assert!(matches!(answer, Ok(Applied::Done(_))), "{answer:?}");
        }
    }

    async fn round(&mut self) {
        for _ in 0..LOOKS {
            let began = Instant::now();
            let filter = Filter::default();
            let page = self.store.list(&self.tenant, &filter, PAGE, None).await;
            self.costs.page.since(began);
            assert_eq!(page.unwrap().items.len(), PAGE);
        }
        for _ in 0..LOOKS {
            let began = Instant::now();
            let fresh = self.accept(1, Free::No).await;
            self.costs.accept.since(began);
            self.deliver(fresh).await;
        }
        self.accept(CLAIMED, Free::Yes).await;
        let now = self.now();
        let asks = [Ask::all(AttemptKind::First, CLAIMED as usize)];
        let mut due = Vec::new();
        for _ in 0..LOOKS {
            let began = Instant::now();
            let agenda = self.store.agenda(None, 100, now).await.unwrap();
            due = self
                .store
                .due(&self.tenant, self.webhook, &asks, now)
                .await
                .unwrap();
            self.costs.look.since(began);
            assert_eq!(agenda.entries.len(), 1);
        }
        let wanted: Vec<_> = due
            .into_iter()
            .flat_map(|found| found.rows)
            .zip(1..)
            .map(|(row, claim)| Wanted {
                tenant: row.tenant,
                id: row.id,
                lease: self.lease(claim),
                seen: Seen::default(),
            })
            .collect();
        let began = Instant::now();
        let claims = self.store.claim(wanted, now).await;
        self.costs.claim.since(began);
        let deliveries: Vec<_> = claims
            .into_iter()
            .map(|claim| {
                let Ok(Claim::Claimed(delivery)) = claim else {
                    panic!("{claim:?}");
                };
                *delivery
            })
            .collect();
        assert_eq!(deliveries.len(), CLAIMED as usize);
        self.deliver(deliveries).await;
    }
}

/// Whether rows are accepted free, or already claimed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Free {
    Yes,
    No,
}
