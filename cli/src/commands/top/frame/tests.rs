use postrider_domain::time::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::output::{Format, Output};
use crate::views::examples;

fn key_stat(value: f64, alerting: bool) -> Value {
    json!({"value": value, "threshold": 10.0, "comparison": "above", "alerting": alerting})
}

fn delivery(n: usize) -> DeliveryView {
    DeliveryView {
        id: format!("dlv_{n}"),
        event_type: "task.\u{1b}[2Jcompleted".to_owned(),
        ..examples::delivery()
    }
}

fn picture(failures: usize, unhealthy: usize) -> Picture {
    let stats = json!({"from": "2026-02-20T10:00:00Z", "to": "2026-02-21T10:00:00Z", "webhooks": [], "total": {
        "webhook_delivery_success_rate": key_stat(99.5, false), "webhook_delivery_p95_latency": key_stat(12.0, true),
        "webhook_retry_rate": key_stat(1.0, false), "webhook_failed_count": key_stat(0.0, false),
        "webhook_avg_retries_per_delivery": key_stat(0.1, false), "delivered": 7, "dead": 1, "attempts": 9,
    }});
    let mut webhook = examples::webhook();
    webhook["status"] = "failed".into();
    webhook["status_reason"] = "a delivery was given up".into();
    let webhooks = std::iter::repeat_n(webhook, unhealthy);
    Picture {
        taken_at: Timestamp::from_millis(1_771_668_000_000),
        stats: serde_json::from_value(stats).unwrap(),
        unhealthy: webhooks
            .map(|webhook| serde_json::from_value(webhook).unwrap())
            .collect(),
        webhooks: 40,
        failures: (0..failures).map(delivery).collect(),
    }
}

fn shown(picture: &Picture, selected: Option<&str>, size: Option<Size>) -> Vec<String> {
    let frame = Frame {
        picture,
        gateway: "http://127.0.0.1:8080/",
        window: "24h",
        rates: Some("1.0/s delivered, 0.0/s failed".to_owned()),
        selected,
        message: None,
    };
    let out = Output::new(Format::People, true);
    let columns = size.map_or(200, |size| size.columns);
    let lines = size.map_or_else(|| frame.whole(), |size| frame.fitted(size));
    lines.iter().map(|line| line.paint(columns, out)).collect()
}

#[test]
fn a_whole_frame_has_every_stat_webhook_and_failure() {
    let text = shown(&picture(30, 2), None, None).join("\n");
    for part in [
        "last 24h: 7 delivered, 1 dead, 9 attempts  now 1.0/s delivered",
        "✗ webhook_delivery_p95_latency     12 s      alert above 10 s",
        "WEBHOOKS NEEDING ATTENTION: 2 of 40",
        "✗ billing                  failed: a delivery was given up  wh_1",
        "✗ dead   5 of 5   10:00:00 task.\\u{1b}[2Jcomplet… HTTP status 500",
        "dlv_29",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(!text.contains('\u{1b}'));
    let calm = shown(&picture(0, 0), None, None).join("\n");
    assert!(calm.contains("All 40 webhooks OK") && calm.contains("No recent failures"));
}

#[test]
fn a_frame_fits_every_terminal_and_keeps_the_selected_failure_visible() {
    let picture = picture(40, 30);
    for (columns, rows) in [(200, 60), (80, 24), (40, 12), (20, 5), (1, 1), (0, 0)] {
        let lines = shown(&picture, Some("dlv_39"), Some(Size { columns, rows }));
        assert_eq!(lines.len(), rows.max(1), "{columns} × {rows}");
        assert!(lines.iter().all(|line| line.chars().count() <= columns));
        if rows >= 24 {
            assert!(lines.iter().any(|line| line.starts_with("▸")), "{lines:#?}");
        }
    }
    let low = shown(
        &picture,
        None,
        Some(Size {
            columns: 80,
            rows: 13,
        }),
    );
    assert!(
        low.iter().any(|line| line.contains("RECENT FAILURES")),
        "{low:#?}"
    );
}

#[test]
fn a_webhook_with_a_backlog_shows_its_size_and_when_it_will_be_empty() {
    let shown_with = |status: &str, backlog: Value| {
        let mut picture = picture(0, 1);
        let mut webhook = examples::webhook();
        webhook["status"] = status.into();
        webhook["backlog"] = backlog;
        picture.unhealthy = vec![serde_json::from_value(webhook).unwrap()];
        shown(&picture, None, None).join("\n")
    };
    let at = "2026-02-21T10:00:03Z";
    let text = shown_with(
        "active",
        json!({"size": 1200, "counted": true, "empty_at": at}),
    );
    assert!(
        text.contains("; backlog: 1200 deliveries, empty at 2026-02-21 10:00:03"),
        "{text}"
    );
    let text = shown_with(
        "paused",
        json!({"size": 10_000, "counted": false, "empty_at": null}),
    );
    let more = "; backlog: more than 10000 deliveries, until the webhook is resumed";
    assert!(text.contains(more), "{text}");
    let text = shown_with(
        "paused",
        json!({"size": 0, "counted": true, "empty_at": null}),
    );
    assert!(!text.contains("backlog"), "{text}");
}
