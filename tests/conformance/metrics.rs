//! `/metrics` of the real gateway, parsed by the library of the Prometheus project.

use std::process::Stdio;
use std::time::Duration;

use http::Method;
use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::repository;
use crate::command::{PATIENCE, Serve, TOKEN};

async fn scrape(gateway: &Serve) -> String {
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
    let request = client
        .build()
        .unwrap()
        .get(format!("{}/metrics", gateway.url));
    let response = request.bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(response.status(), 200);
    response.text().await.unwrap()
}

/// The metric families of a text, according to Prometheus' parser.
async fn parsed(text: &str) -> Value {
    let mut child = Command::new(repository().join(".tools/venv/bin/python"))
        .arg(repository().join("tests/conformance/metrics.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the parser starts; `make setup` installs what it needs");
    let mut input = child.stdin.take().unwrap();
    input.write_all(text.as_bytes()).await.unwrap();
    drop(input);
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The value of the series with this name and label.
fn value(families: &Value, family: &str, name: &str, label: Option<(&str, &str)>) -> Option<f64> {
    let samples = families[family]["samples"].as_array()?;
    let is_it = |sample: &&Value| {
        sample[0] == name && label.is_none_or(|(label, text)| sample[1][label] == text)
    };
    samples.iter().find(is_it)?[2].as_f64()
}

/// Five delivered deliveries and one dead one; returns when the process has counted all six.
async fn six_finished(gateway: &Serve, receiver: &Receiver) -> Value {
    let webhook = gateway
        .webhook(&receiver.url(), &json!({"max_attempts": 1}))
        .await;
    for _ in 0..5 {
        let id = gateway.publish(&webhook, "1").await;
        assert_eq!(gateway.settled(&id).await["status"], "delivered");
    }
    receiver.answer(Answer::status(500));
    let id = gateway.publish(&webhook, "1").await;
    assert_eq!(gateway.settled(&id).await["status"], "dead");
    let mut looks = tokio::time::interval(Duration::from_millis(100));
    let counted = async {
        loop {
            looks.tick().await;
            let families = parsed(&scrape(gateway).await).await;
            let dead = Some(("status", "dead"));
            let family = "postrider_deliveries_finished";
            if value(
                &families,
                family,
                "postrider_deliveries_finished_total",
                dead,
            )
            .is_some()
            {
                return families;
            }
        }
    };
    tokio::time::timeout(PATIENCE, counted)
        .await
        .expect("it is counted")
}

/// Checks that the page explains every family and no other.
fn explained(families: &Value) {
    let page = std::fs::read_to_string(repository().join("docs/metrics.md")).unwrap();
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut named: Vec<_> = rows
        .filter(|name| name.contains("webhook_") || name.starts_with("postrider_"))
        .filter(|name| *name != "webhook_id")
        .map(|name| name.trim_end_matches("_total"))
        .collect();
    named.sort_unstable();
    let mut found: Vec<_> = families
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    found.sort_unstable();
    assert_eq!(found, named);
}

#[tokio::test]
async fn the_python_library_of_prometheus_reads_our_metrics() {
    let receiver = Receiver::start().await;
    let gateway = Serve::start(&[("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")]).await;
    let families = six_finished(&gateway, &receiver).await;
    let stats = gateway.call(Method::GET, "/v1/stats", None).await;
    let key_stats = stats["total"].as_object().unwrap();
    let key_stats: Vec<_> = key_stats
        .iter()
        .filter(|(_, key_stat)| key_stat.is_object())
        .collect();
    assert_eq!(key_stats.len(), 5);
    for (name, key_stat) in key_stats {
        assert_eq!(families[name]["type"], "gauge", "{name}");
        assert_eq!(
            value(&families, name, name, None),
            key_stat["value"].as_f64(),
            "{name}"
        );
        let threshold = "postrider_figure_threshold";
        assert_eq!(families[threshold]["type"], "gauge");
        assert_eq!(
            value(&families, threshold, threshold, Some(("figure", name))),
            key_stat["threshold"].as_f64(),
            "{name}"
        );
    }
    for (family, label, expected) in [
        ("postrider_events", ("result", "new"), 6.0),
        ("postrider_attempts", ("outcome", "delivered"), 5.0),
        ("postrider_attempts", ("outcome", "dead"), 1.0),
        (
            "postrider_deliveries_finished",
            ("status", "delivered"),
            5.0,
        ),
        ("postrider_deliveries_finished", ("status", "dead"), 1.0),
        ("postrider_http_requests", ("route", "/v1/events"), 6.0),
    ] {
        let name = format!("{family}_total");
        assert_eq!(families[family]["type"], "counter", "{family}");
        assert_eq!(
            value(&families, family, &name, Some(label)),
            Some(expected),
            "{family} {label:?}"
        );
    }
    for (family, expected) in [
        ("postrider_attempt_seconds", 6.0),
        ("postrider_delivery_latency_seconds", 5.0),
    ] {
        assert_eq!(families[family]["type"], "histogram", "{family}");
        assert_eq!(
            value(&families, family, &format!("{family}_count"), None),
            Some(expected),
            "{family}"
        );
    }
    explained(&families);
    let age = "postrider_oldest_due_age_seconds";
    assert_eq!(
        value(&families, age, age, None),
        Some(0.0),
        "nothing is due"
    );
    let status = "postrider_webhook_status";
    assert_eq!(
        value(&families, status, status, Some(("status", "degraded"))),
        Some(1.0)
    );
    let webhooks = gateway.call(Method::GET, "/v1/webhooks", None).await;
    let webhook = webhooks["items"][0]["id"].as_str().unwrap();
    let pause = format!("/v1/webhooks/{webhook}/pause");
    gateway.call(Method::POST, &pause, None).await;
    for _ in 0..2 {
        gateway.publish(webhook, "1").await;
    }
    let families = parsed(&scrape(&gateway).await).await;
    let (backlog, label) = ("postrider_webhook_backlog", ("webhook_id", webhook));
    assert_eq!(value(&families, backlog, backlog, Some(label)), Some(2.0));
    // However many webhooks are stopped, a scrape counts the backlogs of a hundred.
    for _ in 0..100 {
        let webhook = gateway.webhook(&receiver.url(), &json!({})).await;
        let pause = format!("/v1/webhooks/{webhook}/pause");
        gateway.call(Method::POST, &pause, None).await;
    }
    let families = parsed(&scrape(&gateway).await).await;
    let counted = families[backlog]["samples"].as_array().unwrap();
    assert_eq!(counted.len(), 100);
}
