//! Choosing what goes next costs the same however much waits. Counted in steps of SQLite's virtual machine, which are the same
//! on every machine.

use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{EventId, TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::schedule::Ask;
use rusqlite::{Connection, StatementStatus, params};
use tempfile::TempDir;

use super::locks::Owners;
use super::schedule::{self, agenda, due};
use super::{deleted, migrate, stepping};

/// Every statement that looks for due rows.
const LOOK: [&str; 3] = [stepping::NEXT_PROCESS, schedule::FREE, schedule::DUE_HELD];
/// Every statement that reads a page of the agenda.
const AGENDA: [&str; 6] = [
    stepping::NEXT_AWAKE,
    stepping::NEXT_TENANT_AWAKE,
    stepping::NEXT_PROCESS,
    stepping::NEXT_HELD,
    stepping::NEXT_TENANT_HELD,
    schedule::FIRST_AWAKE,
];
const NOW: Timestamp = Timestamp::from_millis(10_000_000);
const PAGE: usize = 100;

/// What waits besides ten first attempts that may begin.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// Of the same webhook, due later.
    first_attempts: u32,
    /// Of the same webhook, due and without credit.
    retries: u32,
    /// Each with one due row.
    stopped_webhooks: u32,
}

const LITTLE: Waiting = Waiting {
    first_attempts: 10,
    retries: 10,
    stopped_webhooks: 0,
};

struct Store {
    db: Connection,
    owners: Owners,
    _dir: TempDir,
}

impl Store {
    fn with(waiting: Waiting) -> Self {
        let db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "foreign_keys", false).unwrap();
        migrate::bring_up_to_date(&db).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let owners = Owners::enter(dir.path()).unwrap();
        let store = Self {
            db,
            owners,
            _dir: dir,
        };
        store.insert(webhook(0), 10, "9000000 + n", 0);
        store.insert(webhook(0), waiting.first_attempts, "10000000 + n", 0);
        store.insert(webhook(0), waiting.retries, "n", 3);
        for n in 1..=waiting.stopped_webhooks {
            store.insert(webhook(n), 1, "n", 0);
        }
        store
    }

    /// Inserts rows that are due as given, where `n` counts the rows from 1.
    fn insert(&self, webhook: WebhookId, count: u32, due_at: &str, attempts: u32) {
        let sql = format!(
            "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1) \
             INSERT INTO webhook_deliveries (webhook_id, target_url, signature, status, attempt_count, next_retry_at, \
             created_at, tenant, event, event_id, event_type, attempts_total, max_attempts, generation, version, \
             lease_until) SELECT ?2, '', '', 'pending', 0, {due_at}, 5, 'default', \
             n + (SELECT coalesce(max(id), 0) FROM webhook_deliveries), ?3, 't', ?4, 5, 0, 1, 0 FROM counted"
        );
        let event = EventId::from_bytes([1; 16]).to_string();
        let mut statement = self.db.prepare_cached(&sql).unwrap();
        let inserted = statement.execute(params![count, webhook.to_string(), event, attempts]);
        assert_eq!(inserted, Ok(count as usize));
    }

    /// The steps of a look that may begin five first attempts and no retry.
    fn look(&self) -> i32 {
        let asks = [
            Ask::all(AttemptKind::Retry, 0),
            Ask::all(AttemptKind::First, 5),
        ];
        let tenant = TenantId::default();
        self.steps(&LOOK, |store| {
            let found = due(&store.db, &store.owners, &tenant, webhook(0), &asks, NOW);
            let found = found.unwrap();
            let counts: Vec<_> = found.iter().map(|found| found.rows.len()).collect();
            assert_eq!(counts, [0, 5]);
        })
    }

    /// The steps of one page of the agenda, which the worker reads once per poll interval.
    fn agenda_page(&self) -> i32 {
        self.steps(&AGENDA, |store| {
            let page = agenda(&store.db, &store.owners, None, PAGE, NOW).unwrap();
            assert!(page.entries.len() <= PAGE);
        })
    }

    /// The steps of a sweep that finds no deleted webhook.
    fn sweep(&self) -> i32 {
        self.steps(&[deleted::ANY], |store| {
            assert!(!deleted::is_any(&store.db).unwrap());
        })
    }

    fn steps(&self, statements: &[&str], act: impl FnOnce(&Self)) -> i32 {
        steps(&self.db, statements, || act(self))
    }
}

/// The steps of these statements in `act`.
pub(super) fn steps(db: &Connection, statements: &[&str], act: impl FnOnce()) -> i32 {
    let count = |status| {
        let steps = |sql: &&str| {
            let statement = db.prepare_cached(sql).unwrap();
            statement.reset_status(status)
        };
        statements.iter().map(steps).sum::<i32>()
    };
    count(StatementStatus::VmStep);
    act();
    assert_eq!(count(StatementStatus::Sort), 0, "nothing is sorted");
    assert_eq!(
        count(StatementStatus::FullscanStep),
        0,
        "nothing is scanned"
    );
    let steps = count(StatementStatus::VmStep);
    assert!(steps > 0, "the statements were not used");
    steps
}

fn webhook(n: u32) -> WebhookId {
    let mut bytes = [0; 16];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    WebhookId::from_bytes(bytes)
}

fn assert_costs_the_same(much: Waiting) {
    let (little, much) = (Store::with(LITTLE), Store::with(much));
    assert_eq!(much.look(), little.look());
    assert_eq!(much.sweep(), little.sweep());
}

#[test]
fn a_look_costs_the_same_with_a_hundred_thousand_first_attempts_waiting() {
    assert_costs_the_same(Waiting {
        first_attempts: 100_000,
        ..LITTLE
    });
}

#[test]
fn the_agenda_costs_the_same_with_a_hundred_thousand_rows_of_one_webhook() {
    let much = Waiting {
        first_attempts: 70_000,
        retries: 30_000,
        ..LITTLE
    };
    let [little, much] = [LITTLE, much].map(|waiting| Store::with(waiting).agenda_page());
    assert_eq!(much, little);
}

#[test]
fn a_look_costs_the_same_with_thirty_thousand_retries_without_credit() {
    assert_costs_the_same(Waiting {
        retries: 30_000,
        ..LITTLE
    });
}

#[test]
fn a_look_costs_the_same_with_a_thousand_stopped_webhooks() {
    assert_costs_the_same(Waiting {
        stopped_webhooks: 1_000,
        ..LITTLE
    });
}

#[test]
fn a_page_of_the_agenda_costs_no_more_with_ten_thousand_stopped_webhooks_than_with_a_thousand() {
    let [thousand, ten_thousand] = [1_000, 10_000].map(|stopped_webhooks| {
        let store = Store::with(Waiting {
            stopped_webhooks,
            ..LITTLE
        });
        store.agenda_page()
    });
    assert!(ten_thousand <= thousand, "{ten_thousand}, {thousand}");
}

#[test]
#[ignore = "takes a minute; the short forms are above"]
fn a_look_costs_the_same_with_a_million_waiting() {
    assert_costs_the_same(Waiting {
        first_attempts: 1_000_000,
        retries: 300_000,
        stopped_webhooks: 10_000,
    });
}
