//! A page of a list costs the same however much is stored: event types, tenants, usage and erasures. Counted as in
//! [`costs`](super::costs).

use postrider_domain::ids::{ErasureId, EventId, KeyId, TenantId, WebhookId};
use postrider_domain::tenant::Tenant;
use postrider_domain::time::Timestamp;
use postrider_ports::erasures::{Erasure, Subject};
use rusqlite::{Connection, params};

use super::costs::steps;
use super::{catalogue, codec, erasures, migrate, stats, tenants};

const PAGE: u32 = 50;
const HOUR: i64 = 3_600_000;
/// A month.
const HOURS: u32 = 31 * 24;
const COUNTED: &str =
    "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?1)";

/// A store with so many rows in each table that a list reads.
struct Store(Connection);

impl Store {
    fn with(rows: u32) -> Self {
        let db = Connection::open_in_memory().unwrap();
        migrate::bring_up_to_date(&db).unwrap();
        let store = Self(db);
        store.add_tenants(rows);
        store.add_event_types(rows);
        store.add_erasures(rows);
        store.add_usage(rows);
        store
    }

    fn add(&self, sql: &str, count: u32, more: &[&dyn rusqlite::ToSql]) {
        let mut statement = self.0.prepare(&format!("{COUNTED} {sql}")).unwrap();
        let mut values: Vec<&dyn rusqlite::ToSql> = vec![&count];
        values.extend(more);
        assert_eq!(statement.execute(&*values), Ok(count as usize));
    }

    /// A third each has a record, a key, or webhooks; all of them sort after `m`.
    fn add_tenants(&self, rows: u32) {
        let record = codec::to_json(&Tenant::unrecorded("m".parse().unwrap())).unwrap();
        let name = "'m' || printf('%08d', n)";
        let third = rows / 3;
        self.add(
            &format!("INSERT INTO tenant_records SELECT {name}, 5, ?2 FROM counted"),
            third,
            &[&record],
        );
        self.add(
            &format!("INSERT INTO tenants SELECT {name} || 'b', 1, 0 FROM counted"),
            third,
            &[],
        );
        self.add(
            &format!(
                "INSERT INTO api_keys SELECT randomblob(32), 'key' || n, {name} || 'c', 'k', '[]', 5, NULL FROM counted"
            ),
            third,
            &[],
        );
    }

    /// Those of the tenant, and those of others.
    fn add_event_types(&self, rows: u32) {
        let entry = r#"{"name":"a.b","updated_at":5}"#;
        let insert = "INSERT INTO event_types SELECT";
        self.add(
            &format!("{insert} 'default', 'order.' || n, ?2 FROM counted"),
            PAGE,
            &[&entry],
        );
        self.add(
            &format!("{insert} 'm' || (n % 100), 'order.' || n, ?2 FROM counted"),
            rows,
            &[&entry],
        );
    }

    fn add_erasures(&self, rows: u32) {
        for n in 0..rows {
            let erasure = codec::to_json(&erasure(n)).unwrap();
            let mut statement = self
                .0
                .prepare_cached("INSERT INTO erasures VALUES ('default', ?1, ?2, 0, ?3)")
                .unwrap();
            statement
                .execute(params![id(n).to_string(), n, erasure])
                .unwrap();
        }
    }

    /// The counters of three webhooks: of the month that is asked for, of earlier ones, and of other tenants.
    fn add_usage(&self, rows: u32) {
        let insert = "INSERT INTO stats (tenant, webhook_id, hour, delivered, dead, attempts, retried, retries, latency) SELECT";
        let values = "1, 0, 1, 0, 0, '[]' FROM counted";
        for n in 0..3 {
            let webhook = WebhookId::from_bytes([n; 16]).to_string();
            self.add(
                &format!("{insert} 'default', ?2, (n - 1) * {HOUR}, {values}"),
                HOURS,
                &[&webhook],
            );
            self.add(
                &format!("{insert} 'default', ?2, -n * {HOUR}, {values}"),
                rows / 6,
                &[&webhook],
            );
            self.add(
                &format!("{insert} 'm' || n, ?2, 0, {values}"),
                rows / 6,
                &[&webhook],
            );
        }
    }

    /// The steps of a page of each list, the first and one in the middle where there are several.
    fn pages(&self) -> Vec<(&'static str, i32)> {
        let Self(db) = self;
        let tenant = TenantId::default();
        let tenants = |after: &str| {
            steps(db, &[tenants::PAGE, tenants::RECORD], || {
                let found = tenants::page(db, PAGE as usize, after).unwrap();
                assert_eq!(found.len(), PAGE as usize);
            })
        };
        let erasures = |before: Option<ErasureId>| {
            let list = [before.map_or(erasures::NEWEST, |_| erasures::BEFORE)];
            steps(db, &list, || {
                let found = erasures::page(db, &tenant, PAGE as usize, before).unwrap();
                assert_eq!(found.len(), PAGE as usize);
            })
        };
        vec![
            ("tenants", tenants("")),
            ("tenants after one", tenants("m00000100")),
            ("erasures", erasures(None)),
            ("erasures before one", erasures(Some(id(200)))),
            (
                "event types",
                steps(db, &[catalogue::OF_TENANT], || {
                    let found = catalogue::of_tenant(db, &tenant).unwrap();
                    assert_eq!(found.len(), PAGE as usize);
                }),
            ),
            (
                "usage",
                steps(db, &[stats::NEXT_WEBHOOK, stats::HOUR], || {
                    let webhooks = stats::webhooks(db, &tenant).unwrap();
                    assert_eq!(webhooks.len(), 3);
                    let (from, to) = (
                        Timestamp::ZERO,
                        Timestamp::from_millis(i64::from(HOURS) * HOUR),
                    );
                    for webhook in webhooks {
                        let hours = stats::hours(db, &tenant, webhook, from, to).unwrap();
                        assert_eq!(hours.len(), HOURS as usize);
                    }
                }),
            ),
        ]
    }
}

fn id(n: u32) -> ErasureId {
    let mut bytes = [0; 16];
    bytes[12..].copy_from_slice(&n.to_be_bytes());
    ErasureId::from_bytes(bytes)
}

fn erasure(n: u32) -> Erasure {
    let event_id = EventId::from_bytes([1; 16]);
    let by = KeyId::from_bytes([1; 16]);
    let at = Timestamp::from_millis(n.into());
    Erasure::new(id(n), Subject::Event { event_id }, by, at)
}

fn assert_costs_the_same(rows: u32) {
    let [few, many] = [600, rows].map(|rows| Store::with(rows).pages());
    println!("steps with 600 rows: {few:?}");
    assert_eq!(many, few);
}

#[test]
fn a_page_costs_the_same_with_thirty_thousand_rows() {
    assert_costs_the_same(30_000);
}

#[test]
#[ignore = "takes a minute; the short form is above"]
fn a_page_costs_the_same_with_a_million_rows() {
    assert_costs_the_same(1_000_000);
}
