//! Checks that every frequent query uses its index: no scan of a table that grows, no sorting.

use postrider_domain::delivery::Status;
use postrider_ports::history::Filter;
use rusqlite::Connection;

use super::{
    accept, apply, backlog, catalogue, claim, codec, configs, delete_tenant, deleted, drains,
    erase, erasures, events, expire, health, history, jobs, keys, mail_outbox, migrate,
    notifications, portal_links, probes, rejected, rows, schedule, sources, stats, stepping,
    tenants,
};

#[test]
fn every_hot_query_uses_its_index() {
    let db = Connection::open_in_memory().unwrap();
    migrate::bring_up_to_date(&db).unwrap();
    let cases: &[(&str, &str)] = &[
        (&rows::FIND, "deliveries_key (event=? AND webhook_id=?)"),
        (&rows::FIND, "events_key (event_id=? AND tenant=?)"),
        (&rows::OF_EVENT, "deliveries_key (event=?)"),
        (&rows::OF_EVENT, "events_key (event_id=? AND tenant=?)"),
        (codec::UPDATE_DELIVERY, "INTEGER PRIMARY KEY (rowid=?)"),
        (accept::FIND_EARLIER, "events_key (event_id=? AND tenant=?)"),
        (accept::ROWS_OF_EVENT, "deliveries_key (event=?)"),
        (apply::PLACE, "deliveries_key (event=? AND webhook_id=?)"),
        (apply::COMPLETE, "INTEGER PRIMARY KEY (rowid=?)"),
        (apply::FIRST_ATTEMPT, "INTEGER PRIMARY KEY (rowid=?)"),
        (apply::RECORDED, "PRIMARY KEY (delivery=? AND version=?)"),
        (apply::ATTEMPTS, "PRIMARY KEY (delivery=?)"),
        (events::BY_ID, "events_key (event_id=? AND tenant=?)"),
        (events::AT, "INTEGER PRIMARY KEY (rowid=?)"),
        (claim::HOLD, "INTEGER PRIMARY KEY (rowid=?)"),
        (erase::ROWS, "deliveries_key (event=?)"),
        (erase::ERASED_AT, "events_key (event_id=? AND tenant=?)"),
        (erasures::ONE, "PRIMARY KEY (tenant=? AND id=?)"),
        (erasures::NEWEST, "erasures_newest (tenant=?)"),
        (
            erasures::BEFORE,
            "erasures_newest (tenant=? AND begun_at<?)",
        ),
        (
            delete_tenant::EVENTS,
            "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (
            delete_tenant::NOTIFICATIONS,
            "INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
        ),
        (delete_tenant::WEBHOOKS, "PRIMARY KEY (tenant=?)"),
        (delete_tenant::SOURCES, "sources_of_tenant (tenant=?)"),
        (health::LOAD, "PRIMARY KEY (tenant=? AND id=?)"),
        (
            stepping::NEXT_AWAKE,
            "deliveries_wake (tenant=? AND webhook_id>?)",
        ),
        (stepping::NEXT_TENANT_AWAKE, "deliveries_wake (tenant>?)"),
        (stepping::NEXT_PROCESS, "deliveries_held (lease_process>?)"),
        (
            stepping::NEXT_HELD,
            "deliveries_held (lease_process=? AND tenant=? AND webhook_id>?)",
        ),
        (
            stepping::NEXT_TENANT_HELD,
            "deliveries_held (lease_process=? AND tenant>?)",
        ),
        (
            schedule::FIRST_AWAKE,
            "deliveries_wake (tenant=? AND webhook_id=? AND is_retry=?",
        ),
        (
            schedule::FIRST_VOID,
            "deliveries_held (lease_process=? AND tenant=? AND webhook_id=?)",
        ),
        (
            schedule::FREE,
            "deliveries_wake (tenant=? AND webhook_id=? AND is_retry=? AND wake_at>? AND wake_at<?)",
        ),
        (
            drains::DUE,
            "deliveries_wake (tenant=? AND webhook_id=? AND is_retry=? AND wake_at<?)",
        ),
        (
            schedule::DUE_HELD,
            "deliveries_held (lease_process=? AND tenant=? AND webhook_id=? AND lease_until<?)",
        ),
        (deleted::FREE, "deliveries_wake (tenant=? AND webhook_id=?"),
        (
            deleted::HELD,
            "deliveries_held (lease_process=? AND tenant=? AND webhook_id=?)",
        ),
        (deleted::NEXT, "PRIMARY KEY ((tenant,webhook_id)>(?,?))"),
        (&deleted::ONE, "INTEGER PRIMARY KEY (rowid=?)"),
        (
            probes::DUE,
            "webhooks_to_test (next_test_at>? AND next_test_at<?)",
        ),
        (probes::DUE_BEYOND, "webhooks_to_test (next_test_at>?)"),
        (expire::ROWS_AFTER, "INTEGER PRIMARY KEY (rowid>?)"),
        (
            expire::ROWS_OF_TENANT,
            "deliveries_recent (tenant=? AND created_at>? AND created_at<?)",
        ),
        (tenants::RECORD, "PRIMARY KEY (tenant=?)"),
        (tenants::PAGE, "SEARCH tenants USING PRIMARY KEY (tenant>?)"),
        (
            tenants::PAGE,
            "SEARCH api_keys USING COVERING INDEX sqlite_autoindex_api_keys_2 (tenant>?)",
        ),
        (
            tenants::PAGE,
            "SEARCH tenant_records USING PRIMARY KEY (tenant>?)",
        ),
        (catalogue::OF_TENANT, "PRIMARY KEY (tenant=?)"),
        (catalogue::ONE, "PRIMARY KEY (tenant=? AND name=?)"),
        (jobs::OF_TENANT, "PRIMARY KEY (tenant=?)"),
        (expire::EVENTS_AFTER, "INTEGER PRIMARY KEY (rowid>?)"),
        (expire::EVENTS_AFTER, "deliveries_key (event=?)"),
        (expire::DELETE_BARE_EVENT, "INTEGER PRIMARY KEY (rowid=?)"),
        (expire::DELETE_BARE_EVENT, "deliveries_key (event=?)"),
        (
            stats::HOUR,
            "PRIMARY KEY (tenant=? AND webhook_id=? AND hour>? AND hour<?)",
        ),
        (
            stats::NEXT_WEBHOOK,
            "PRIMARY KEY (tenant=? AND webhook_id>?)",
        ),
        (
            stats::NEXT_COUNTED,
            "PRIMARY KEY ((tenant,webhook_id)>(?,?))",
        ),
        (
            stats::FORGET,
            "PRIMARY KEY (tenant=? AND webhook_id=? AND hour<?)",
        ),
        (mail_outbox::DUE, "letters_due (due_at<?)"),
        (mail_outbox::DUE_BEYOND, "letters_due (due_at>?)"),
        (
            mail_outbox::FILED_BETWEEN,
            "letters_about (tenant=? AND webhook_id=? AND trouble=? AND episode>? AND episode<?)",
        ),
        (mail_outbox::CONTACT, "PRIMARY KEY (tenant=? AND id=?)"),
        (configs::ALL, "PRIMARY KEY (tenant=?)"),
        (configs::ONE, "PRIMARY KEY (tenant=? AND id=?)"),
        (sources::ALL, "sources_of_tenant (tenant=?)"),
        (sources::ONE, "PRIMARY KEY (id=?)"),
        (sources::BY_ID, "PRIMARY KEY (id=?)"),
        (rejected::COUNTS, "PRIMARY KEY (tenant=? AND source_id=?)"),
        (
            rejected::NEWEST,
            "refused_of_source (tenant=? AND source_id=?)",
        ),
        (
            rejected::ONE,
            "refused_of_source (tenant=? AND source_id=? AND place=?)",
        ),
        (
            rejected::OVERTAKEN,
            "refused_of_source (tenant=? AND source_id=? AND place<?)",
        ),
        (rejected::FORGET, "refused_by_age (at<?)"),
        (keys::BY_DIGEST, "(digest=?)"),
        (portal_links::USE, "PRIMARY KEY (digest=?)"),
        (
            portal_links::FORGET,
            "portal_links_expires_at (expires_at<?)",
        ),
        (jobs::ONE, "PRIMARY KEY (tenant=? AND id=?)"),
        (notifications::AFTER, "INTEGER PRIMARY KEY (rowid>?)"),
        (notifications::NEWEST, "SEARCH outbox"),
        (notifications::EMPTY_NEWEST, "INTEGER PRIMARY KEY (rowid=?)"),
    ];
    for (sql, index) in cases {
        assert_plan(&db, sql, index, &[]);
    }
    // The oldest few, in table order; and an index that holds only running jobs.
    assert_plan(&db, notifications::FORGET, "SCAN outbox", &["SCAN outbox"]);
    // Rows that are due in the same millisecond are sorted by event.
    let sorted = "USE TEMP B-TREE FOR LAST TERM OF ORDER BY";
    let index =
        "deliveries_wake (tenant=? AND webhook_id=? AND is_retry=? AND wake_at>? AND wake_at<?)";
    assert_plan(&db, backlog::FREE, index, &[sorted]);
    let running = "SCAN jobs USING INDEX jobs_running";
    assert_plan(&db, jobs::UNFINISHED, running, &[running]);
    let open = "SCAN erasures USING INDEX erasures_open";
    assert_plan(&db, erasures::OPEN, open, &[open]);
    for sql in delete_tenant::INDEXED {
        assert_plan(&db, sql, "(tenant=?)", &[]);
    }
}

#[test]
fn every_list_goes_by_one_index() {
    let db = Connection::open_in_memory().unwrap();
    migrate::bring_up_to_date(&db).unwrap();
    let failed = Filter {
        status: Some(Status::Failed),
        session_id: Some("s".parse().unwrap()),
        ..Filter::default()
    };
    let session = Filter {
        session_id: Some("s".parse().unwrap()),
        webhook_id: Some("wh_aaaaaaaaaaaaaaaaaaaaaaaaaa".parse().unwrap()),
        ..Filter::default()
    };
    let webhook = Filter {
        session_id: None,
        status: Some(Status::Delivered),
        ..session.clone()
    };
    let cases = [
        (failed, "deliveries_trouble (tenant=? AND status=? AND"),
        (
            session,
            "deliveries_by_session (tenant=? AND session_id=? AND",
        ),
        (
            webhook,
            "deliveries_by_webhook (tenant=? AND webhook_id=? AND",
        ),
        (Filter::default(), "deliveries_recent (tenant=? AND"),
    ];
    for (filter, plan) in cases {
        assert_plan(&db, &history::sql(filter.index()), plan, &[]);
    }
}

fn assert_plan(db: &Connection, sql: &str, index: &str, allowed: &[&str]) {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut steps: Vec<String> = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    let plan = steps.join("\n");
    assert!(plan.contains(index), "{sql}\nshould use {index}:\n{plan}");
    for step in &steps {
        let free = !step.contains("SCAN") && !step.contains("TEMP B-TREE");
        assert!(
            free || step.contains("CONSTANT ROW") || allowed.contains(&step.as_str()),
            "{sql}\n{plan}"
        );
    }
}
