//! The documents say what the code does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use postrider_domain::notification::NotificationKind;
use postrider_domain::payload_filter::{Payload, PayloadFilter};
use postrider_domain::scheme::Scheme;
use serde_json::Value;

use crate::command;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The codes of log lines: the value of `event` in the arguments of a logging macro.
fn logged(source: &str) -> impl Iterator<Item = String> {
    let macros = ["debug!(", "info!(", "warn!(", "error!("];
    let calls = macros
        .into_iter()
        .flat_map(|name| source.split(name).skip(1));
    calls.filter_map(|after| {
        let (_, code) = after.split(");").next()?.split_once("event = \"")?;
        let code = code.split('"').next()?;
        assert!(is_code(code), "{code}");
        Some(code.to_owned())
    })
}

fn is_code(text: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    text.split_once('.')
        .is_some_and(|(area, event)| is_word(area) && is_word(event))
}

#[test]
fn every_scheme_has_its_row_in_the_guide() {
    let page = fs::read_to_string(repository().join("docs/inbound.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let named: BTreeSet<&str> = rows
        .filter_map(|row| row.split(" | ").next())
        .flat_map(|cell| cell.split("`, `"))
        .map(|name| name.trim_end_matches('`'))
        .collect();
    let known: BTreeSet<&str> = Scheme::names().collect();
    assert_eq!(named, known);
}

#[test]
fn every_log_line_is_explained_and_every_explained_one_exists() {
    let mut files = Vec::new();
    for folder in ["shared", "functions", "cli"] {
        sources(&repository().join(folder), &mut files);
    }
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let written: BTreeSet<String> = texts
        .flat_map(|text| logged(&text).collect::<Vec<_>>())
        .collect();
    let page = fs::read_to_string(repository().join("docs/logging.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    // The page also explains the fields of a line; only codes have a dot.
    let codes = rows.filter(|name| name.contains('.'));
    let explained: BTreeSet<String> = codes.map(str::to_owned).collect();
    assert!(written.len() > 15, "the sources were read: {written:?}");
    assert_eq!(written, explained);
}

#[test]
fn every_notification_is_listed_and_every_listed_one_exists() {
    let page = fs::read_to_string(repository().join("docs/notifications.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: BTreeSet<&str> = rows.collect();
    let sent: BTreeSet<&str> = NotificationKind::ALL.map(NotificationKind::as_str).into();
    assert_eq!(listed, sent);
}

fn filter_page() -> String {
    fs::read_to_string(repository().join("docs/filters.md")).unwrap()
}

#[test]
fn every_condition_on_the_page_about_filters_matches_as_it_says() {
    let page = filter_page();
    let rows = page.lines().filter(|line| line.starts_with("| `{"));
    let mut count = 0;
    for row in rows {
        let cells = row.trim_matches(['|', ' ']).split(" | ");
        let cells =
            cells.map(|cell| serde_json::from_str::<Value>(cell.trim_matches('`')).unwrap());
        let [filter, matching, other] = cells.collect::<Vec<_>>().try_into().unwrap();
        let filter = PayloadFilter::compile("filter", filter).unwrap();
        assert!(filter.matches(&Payload::from(&matching)), "{row}");
        assert!(!filter.matches(&Payload::from(&other)), "{row}");
        count += 1;
    }
    assert!(count > 15, "{count} rows");
}

/// The first block of this language.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```").unwrap().0
}

/// Every block of this language.
fn blocks(page: &str, language: &str) -> String {
    let begin = format!("```{language}\n");
    let blocks = page.split(&begin).skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.collect()
}

/// Runs commands of a page against a gateway, if there is one; returns the exit code and what they printed.
async fn run(
    options: &str,
    commands: &str,
    folder: &Path,
    gateway: Option<&command::Serve>,
) -> (Option<i32>, String, String) {
    let mut bash = tokio::process::Command::new("bash");
    bash.args([options, &format!("PATH=\"$BUILT:$PATH\"\n{commands}")])
        .current_dir(folder)
        .env("BUILT", command::binary().parent().unwrap());
    if let Some(gateway) = gateway {
        bash.env("POSTRIDER_URL", &gateway.url)
            .env("POSTRIDER_TOKEN", command::TOKEN);
    }
    let ran = bash.output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ran.status.code(), text(&ran.stdout), text(&ran.stderr))
}

#[tokio::test]
async fn the_worked_example_of_a_tenant_runs_and_leaves_the_limits_that_its_page_says() {
    let page = fs::read_to_string(repository().join("docs/tenants.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gateway = command::Serve::start(&[]).await;
    let commands = blocks(&page, "sh");
    let ran = run("-ec", &commands, folder.path(), Some(&gateway));
    let (code, printed, complaints) = ran.await;
    assert_eq!(code, Some(0), "{complaints}");
    assert!(printed.contains("prk_"), "{printed}");
    let tenant = gateway
        .call(http::Method::GET, "/v1/tenants/acme", None)
        .await;
    assert_eq!(
        tenant["limits"],
        serde_json::json!({
            "webhooks": 2, "publish_rate": 500, "max_body_bytes": 65536, "retention_days": null,
        })
    );
}

#[tokio::test]
async fn the_worked_example_of_a_filter_prints_what_its_page_says() {
    run_example(&filter_page(), "json", "filter.json").await;
}

#[tokio::test]
async fn the_worked_example_of_a_template_prints_what_its_page_says() {
    let page = fs::read_to_string(repository().join("docs/templates.md")).unwrap();
    run_example(&page, "jinja", "chat.jinja").await;
}

/// Runs the worked example of a page beside this file, which is its first block of this language: commands without a gateway,
/// of which the last one fails; the creation of a webhook; and a request over HTTP.
async fn run_example(page: &str, language: &str, file: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(file), block(page, language)).unwrap();
    let (code, printed, complaints) = run("-c", block(page, "sh"), folder.path(), None).await;
    assert_eq!(printed, block(page, "text"), "{complaints}");
    assert_eq!(code, Some(1), "the last one fails");
    let gateway = command::Serve::start(&[]).await;
    let create = page
        .lines()
        .find(|line| line.starts_with("postrider webhooks create") && line.contains(file))
        .unwrap();
    let (code, printed, complaints) = run("-ec", create, folder.path(), Some(&gateway)).await;
    assert_eq!(code, Some(0), "{complaints}");
    assert!(printed.contains("wh_"), "{printed}");
    let (before, rest) = page.split_once("returns `{").unwrap();
    let (_, call) = before.rsplit_once("```sh\n").unwrap();
    let call = call.split_once("```").unwrap().0;
    let (expected, _) = rest.split_once('`').unwrap();
    let (code, printed, complaints) = run("-ec", call, folder.path(), Some(&gateway)).await;
    assert_eq!(code, Some(0), "{complaints}");
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(parsed(&printed), parsed(&format!("{{{expected}")));
}

#[tokio::test]
async fn the_worked_example_of_an_event_type_prints_what_its_page_says() {
    let page = fs::read_to_string(repository().join("docs/event-types.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("order.schema.json");
    fs::write(schema, block(&page, "json")).unwrap();
    let gateway = command::Serve::start(&[("POSTRIDER_EVENT_VALIDATION", "reject")]).await;
    let ran = run("-c", block(&page, "sh"), folder.path(), Some(&gateway));
    let (code, printed, complaints) = ran.await;
    assert_eq!(printed, block(&page, "text"), "{complaints}");
    assert_eq!(code, Some(3), "the last one is rejected");
    let metrics = reqwest::Client::new()
        .get(format!("{}/metrics", gateway.url))
        .bearer_auth(command::TOKEN);
    let metrics = metrics.send().await.unwrap().text().await.unwrap();
    let counted = "postrider_schema_mismatches_total{result=\"rejected\"} 1";
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn the_worked_example_of_an_erasure_prints_what_its_page_says() {
    let page = fs::read_to_string(repository().join("docs/erasure.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gateway = command::Serve::start(&[]).await;
    for types in ["order.*", "order.paid"] {
        let webhook = serde_json::json!({"name": types, "target_url": "https://hooks.invalid", "event_types": [types]});
        let created = gateway.call(http::Method::POST, "/v1/webhooks", Some(webhook));
        // Nothing is sent.
        let path = format!(
            "/v1/webhooks/{}/pause",
            created.await["id"].as_str().unwrap()
        );
        gateway.call(http::Method::POST, &path, None).await;
    }
    let mut events = Vec::new();
    for (kind, session) in [
        ("order.paid", "customer-42"),
        ("order.paid", "customer-42"),
        ("order.lost", "customer-42"),
        ("order.paid", "customer-43"),
    ] {
        let event =
            serde_json::json!({"type": kind, "session_id": session, "payload": {"who": session}});
        let event = gateway
            .call(http::Method::POST, "/v1/events", Some(event))
            .await;
        events.push(format!("/v1/events/{}", event["id"].as_str().unwrap()));
    }
    let commands = block(&page, "sh").replace(" --wait", " --wait --yes");
    let ran = run("-ec", &commands, folder.path(), Some(&gateway));
    let (code, printed, complaints) = ran.await;
    assert_eq!(code, Some(0), "{complaints}");
    let (id, rest) = printed.split_once(':').unwrap();
    assert!(id.starts_with("ers_"), "{printed}");
    assert_eq!(format!("ers_…:{rest}"), block(&page, "text"));
    let mut answers = Vec::new();
    for path in &events {
        let answer = gateway.try_call(http::Method::GET, path, None).await;
        answers.push(answer.unwrap().0);
    }
    assert_eq!(answers, [410, 410, 410, 200]);
}

#[tokio::test]
async fn the_worked_example_of_the_portal_prints_what_its_page_says() {
    let page = fs::read_to_string(repository().join("docs/portal.md")).unwrap();
    let (_, example) = page.split_once("## Worked example").unwrap();
    let (example, _) = example.split_once("\n## ").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gateway = command::Serve::start(&[]).await;
    let commands = blocks(example, "sh");
    let ran = run("-euc", &commands, folder.path(), Some(&gateway));
    let (code, printed, complaints) = ran.await;
    assert_eq!(printed, block(example, "text"), "{complaints}");
    assert_eq!(code, Some(0), "{complaints}");
}
