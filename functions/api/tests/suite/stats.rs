//! ADR-0040's key stats over HTTP, compared with a count of the deliveries themselves.
#![allow(clippy::cast_precision_loss, reason = "counts of a test are small")]

use http::Method;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::key::Scope;
use postrider_domain::stats::LATENCY_BOUNDS_MS;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::clock::Clock;
use serde_json::{Value, json};

use crate::stage::{BEGIN, Stage};

#[tokio::test]
async fn key_stats_have_thresholds_and_counters() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let (arrives, dies) = (stage.delivery().await, stage.delivery().await);
    stage.attempt(&arrives, Transition::Deliver).await;
    stage.kill(&dies).await;
    let stats = stage.get("/v1/stats").await.expect(200);
    assert_eq!(
        stats["total"],
        json!({
            "webhook_delivery_success_rate": {"value": 50.0, "threshold": 95.0, "comparison": "below", "alerting": true},
            "webhook_delivery_p95_latency": {"value": 0.0095, "threshold": 10.0, "comparison": "above", "alerting": false},
            "webhook_retry_rate": {"value": 0.0, "threshold": 20.0, "comparison": "above", "alerting": false},
            "webhook_failed_count": {"value": 0.0, "threshold": 10.0, "comparison": "above", "alerting": false},
            "webhook_avg_retries_per_delivery": {"value": 0.0, "threshold": 1.5, "comparison": "above", "alerting": false},
            "delivered": 1, "dead": 1, "attempts": 2, "retried": 0, "retries": 0,
        })
    );
    let mut of_webhook = stats["webhooks"][0].clone();
    for (field, value) in [
        ("id", webhook.as_str()),
        ("name", "Tasks"),
        ("status", "active"),
    ] {
        assert_eq!(
            of_webhook.as_object_mut().unwrap().remove(field).unwrap(),
            value
        );
    }
    assert_eq!(of_webhook, stats["total"], "the only one there is");
    let hours = stats["hours"].as_array().unwrap();
    assert_eq!((hours.len(), &stats["from"]), (25, &hours[0]["hour"]));
    assert_eq!(hours[24]["hour"], "2026-02-21T10:00:00.000Z");
    assert_eq!(stats["to"], "2026-02-21T11:00:00.000Z");
    assert_eq!(
        hours[0],
        json!({
            "hour": "2026-02-20T10:00:00.000Z", "webhook_delivery_success_rate": null,
            "webhook_delivery_p95_latency": null, "webhook_retry_rate": null,
            "webhook_avg_retries_per_delivery": null,
            "delivered": 0, "dead": 0, "attempts": 0, "retried": 0, "retries": 0,
        })
    );
}

#[tokio::test]
async fn without_data_key_stats_are_null_and_do_not_alert() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let total = stage.get("/v1/stats").await.expect(200)["total"].clone();
    for (name, key_stat) in total.as_object().unwrap() {
        if key_stat.is_object() && name != "webhook_failed_count" {
            assert_eq!(
                (&key_stat["value"], &key_stat["alerting"]),
                (&Value::Null, &json!(false)),
                "{name}"
            );
        }
    }
    assert_eq!(total["webhook_failed_count"]["value"], 0.0);
}

#[tokio::test]
async fn the_window_and_the_webhook_can_be_set() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let early = stage.delivery().await;
    stage.attempt(&early, Transition::Deliver).await;
    stage.clock.advance(Millis::from_seconds(5 * 3600));
    let late = stage.delivery().await;
    stage.attempt(&late, Transition::Deliver).await;
    for (query, delivered, hours) in [
        ("".to_owned(), 2, 25),
        ("window=5h".to_owned(), 2, 6),
        ("window=4h".to_owned(), 1, 5),
        ("window=31d".to_owned(), 2, 745),
        ("window=2h&to=2026-02-21T12:00:00Z".to_owned(), 1, 2),
        (
            "from=2026-02-21T10:59:00Z&to=2026-02-21T11:00:00Z".to_owned(),
            1,
            1,
        ),
        ("from=2026-02-21T12:00:00%2B01:00".to_owned(), 1, 5),
        (format!("webhook_id={webhook}"), 2, 25),
        ("webhook_id=wh_aaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(), 0, 25),
    ] {
        let stats = stage.get(&format!("/v1/stats?{query}")).await.expect(200);
        assert_eq!(stats["total"]["delivered"], delivered, "{query}");
        assert_eq!(stats["hours"].as_array().unwrap().len(), hours, "{query}");
    }
    stage.delete(&format!("/v1/webhooks/{webhook}")).await;
    let stats = stage.get("/v1/stats").await.expect(200);
    assert_eq!(stats["webhooks"], json!([]));
    assert_eq!(
        stats["total"]["delivered"], 2,
        "the stats of a deleted webhook are kept"
    );
}

#[tokio::test]
async fn invalid_parameters_are_reported() {
    let stage = Stage::new().await;
    for (query, field, words) in [
        ("window=0h", "window", "31d"),
        ("window=32d", "window", "31d"),
        ("window=1m", "window", "1h"),
        ("window=", "window", "1h"),
        ("window=1h&from=2026-02-21T09:00:00Z", "window", "not both"),
        ("from=2026-02-21T10:00:01Z", "from", "before `to`"),
        (
            "from=2026-02-21T09:00:00Z&to=2026-02-21T09:00:00Z",
            "from",
            "before `to`",
        ),
        ("from=2026-01-21T09:00:00Z", "from", "31 days"),
        ("from=yesterday", "from", "RFC 3339"),
        ("to=tomorrow", "to", "RFC 3339"),
        ("webhook_id=7", "webhook_id", "wh_"),
        ("limit=1", "limit", "not known"),
    ] {
        let answer = stage.get(&format!("/v1/stats?{query}")).await;
        answer.refuses(field, words);
    }
    let faults = stage.get("/v1/stats?window=x&webhook_id=y&to=z").await;
    assert_eq!(faults.problem(400, "invalid_request").len(), 3);
}

#[tokio::test]
async fn stats_are_per_tenant_and_require_a_key() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.attempt(&id, Transition::Deliver).await;
    let other = stage.token("other", &[Scope::Read]).await;
    let stats = stage
        .call(&other, Method::GET, "/v1/stats", "")
        .await
        .expect(200);
    assert_eq!(
        (&stats["total"]["delivered"], &stats["webhooks"]),
        (&json!(0), &json!([]))
    );
    let publisher = stage.token("default", &[Scope::Publish]).await;
    let refused = stage.call(&publisher, Method::GET, "/v1/stats", "").await;
    refused.problem(403, "missing_scope");
}

/// A generator with a fixed seed, so failures are reproducible.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Runs deliveries to these webhooks over a day and a half.
async fn live(stage: &Stage, webhooks: &[String], dice: &mut Dice) {
    let mut open: Vec<String> = Vec::new();
    for _ in 0..450 {
        // Some latencies in milliseconds, some in minutes.
        let pause = if dice.roll(3) == 0 {
            dice.roll(1_800_000)
        } else {
            dice.roll(40)
        };
        stage.clock.advance(Millis::new(pause));
        if open.len() < 3 || dice.roll(3) == 0 {
            let webhook = &webhooks[usize::try_from(dice.roll(webhooks.len() as u64)).unwrap()];
            let event = json!({"type": "task.done", "webhook_id": webhook, "payload": 1});
            let answer = stage.post("/v1/events", event).await.expect(202);
            open.push(answer["deliveries"][0]["id"].as_str().unwrap().to_owned());
            continue;
        }
        let at = usize::try_from(dice.roll(open.len() as u64)).unwrap();
        let (transition, is_end) = match dice.roll(10) {
            0..5 => (Transition::Deliver, true),
            5 => (
                Transition::Die {
                    cause: DeadCause::Exhausted,
                },
                true,
            ),
            _ => (
                Transition::Retry {
                    next_retry_at: stage.clock.now(),
                },
                false,
            ),
        };
        stage.attempt(&open[at], transition).await;
        if is_end {
            open.swap_remove(at);
        }
    }
}

/// The stats, counted from the rows and their attempts.
#[derive(Debug, Default)]
struct Recount {
    delivered: u64,
    dead: u64,
    attempts: u64,
    retried: u64,
    retries: u64,
    latencies_ms: Vec<u64>,
}

fn instant(text: &Value) -> Timestamp {
    Timestamp::parse_rfc3339(text.as_str().unwrap()).unwrap()
}

impl Recount {
    fn of<'a>(rows: impl Iterator<Item = &'a Value>, from: Timestamp, to: Timestamp) -> Self {
        let mut sum = Self::default();
        let within = |at: Timestamp| from <= at && at < to;
        for row in rows {
            let tries: Vec<_> = row["attempts"]
                .as_array()
                .unwrap()
                .iter()
                .map(|a| instant(&a["at"]))
                .collect();
            sum.attempts += tries.iter().filter(|at| within(**at)).count() as u64;
            let Some(last) = tries.last().copied().filter(|at| within(*at)) else {
                continue;
            };
            match row["status"].as_str().unwrap() {
                "delivered" => {
                    sum.delivered += 1;
                    sum.latencies_ms
                        .push(last.since(instant(&row["created_at"])).get());
                }
                "dead" => sum.dead += 1,
                _ => continue,
            }
            sum.retries += tries.len() as u64 - 1;
            sum.retried += u64::from(tries.len() > 1);
        }
        sum.latencies_ms.sort_unstable();
        sum
    }

    /// Compares with the API's response; `value` finds a stat in it.
    fn agrees(&self, shown: &Value, value: impl Fn(&str) -> Value) {
        for (name, count) in [
            ("delivered", self.delivered),
            ("dead", self.dead),
            ("attempts", self.attempts),
            ("retried", self.retried),
            ("retries", self.retries),
        ] {
            assert_eq!(shown[name], count, "{name} {self:?} {shown}");
        }
        let finished = (self.delivered + self.dead) as f64;
        for (name, expected) in [
            (
                "webhook_delivery_success_rate",
                100.0 * self.delivered as f64 / finished,
            ),
            ("webhook_retry_rate", 100.0 * self.retried as f64 / finished),
            (
                "webhook_avg_retries_per_delivery",
                self.retries as f64 / finished,
            ),
        ] {
            match value(name).as_f64() {
                Some(value) => {
                    assert!((value - expected).abs() < 1e-9, "{name} {value} {expected}");
                }
                None => assert!(finished < 1.0, "{name} {shown}"),
            }
        }
        let p95 = value("webhook_delivery_p95_latency")
            .as_f64()
            .map(|seconds| seconds * 1000.0);
        let rank = (self.latencies_ms.len() * 19).div_ceil(20);
        let exact = rank.checked_sub(1).map(|at| self.latencies_ms[at] as f64);
        assert_eq!(p95.is_some(), exact.is_some(), "{shown}");
        if let (Some(p95), Some(exact)) = (p95, exact) {
            let bounds = LATENCY_BOUNDS_MS.map(|bound| bound as f64);
            let upper = *bounds.iter().find(|bound| **bound >= exact).unwrap();
            let lower = bounds
                .iter()
                .rev()
                .find(|bound| **bound < exact)
                .copied()
                .unwrap_or(0.0);
            assert!(
                lower - 0.001 <= p95 && p95 <= upper + 0.001,
                "{lower} {p95} {upper}"
            );
        }
    }
}

/// Every delivery with its attempts, from the API.
async fn rows(stage: &Stage) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut path = "/v1/deliveries?limit=200".to_owned();
    loop {
        let page = stage.get(&path).await.expect(200);
        for row in page["items"].as_array().unwrap() {
            let id = row["id"].as_str().unwrap();
            rows.push(stage.get(&format!("/v1/deliveries/{id}")).await.expect(200));
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/deliveries?limit=200&cursor={cursor}"),
            None => return rows,
        }
    }
}

#[tokio::test]
async fn stats_agree_with_the_deliveries_counted_one_by_one() {
    let stage = Stage::new().await;
    let webhooks = [
        stage.webhook().await,
        stage.webhook().await,
        stage.webhook().await,
    ];
    let mut dice = Dice(20_260_221);
    live(&stage, &webhooks, &mut dice).await;
    let rows = rows(&stage).await;
    let end = stage.clock.now();
    assert!(rows.len() > 100 && end.since(BEGIN) > Millis::from_seconds(24 * 3600));
    for query in [
        "",
        "?window=31d",
        "?window=7h",
        "?window=5h&to=2026-02-21T20:00:00Z",
    ] {
        let stats = stage.get(&format!("/v1/stats{query}")).await.expect(200);
        let (from, to) = (instant(&stats["from"]), instant(&stats["to"]));
        let total = Recount::of(rows.iter(), from, to);
        assert!(
            total.delivered > 0 && total.retried > 0,
            "{query} {total:?}"
        );
        total.agrees(&stats["total"], |name| {
            stats["total"][name]["value"].clone()
        });
        for shown in stats["webhooks"].as_array().unwrap() {
            let its = rows.iter().filter(|row| row["webhook_id"] == shown["id"]);
            let its = Recount::of(its, from, to);
            its.agrees(shown, |name| shown[name]["value"].clone());
        }
        for hour in stats["hours"].as_array().unwrap() {
            let start = instant(&hour["hour"]);
            let its = Recount::of(rows.iter(), start, start.plus(Millis::from_seconds(3600)));
            its.agrees(hour, |name| hour[name].clone());
        }
    }
}
