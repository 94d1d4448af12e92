//! `/metrics`. The metrics of the process are tested with the real gateway, because a recorder is per process.

use http::Method;
use postrider_domain::decide::Transition;
use postrider_domain::key::Scope;

use crate::stage::Stage;

#[tokio::test]
async fn the_five_key_stats_are_gauges() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let empty = stage.get("/metrics").await;
    assert_eq!(
        empty.headers["content-type"],
        "text/plain; version=0.0.4; charset=utf-8"
    );
    assert!(
        empty.text.contains("webhook_failed_count 0\n"),
        "{}",
        empty.text
    );
    for key_stat in ["success_rate", "p95_latency", "retry_rate", "avg_retries"] {
        let is_shown = |line: &str| line.starts_with("webhook_") && line.contains(key_stat);
        assert!(
            !empty.text.lines().any(is_shown),
            "nothing happened: {}",
            empty.text
        );
    }
    let (arrives, dies) = (stage.delivery().await, stage.delivery().await);
    stage.attempt(&arrives, Transition::Deliver).await;
    stage.kill(&dies).await;
    let text = stage.get("/metrics").await.text;
    for line in [
        "# TYPE webhook_delivery_success_rate gauge",
        "webhook_delivery_success_rate 50",
        "webhook_delivery_p95_latency 0.0095",
        "webhook_retry_rate 0",
        "webhook_failed_count 0",
        "webhook_avg_retries_per_delivery 0",
        "postrider_figure_threshold{figure=\"webhook_delivery_success_rate\",bad=\"below\"} 95",
        "postrider_figure_threshold{figure=\"webhook_avg_retries_per_delivery\",bad=\"above\"} 1.5",
        &format!("postrider_webhook_status{{webhook_id=\"{webhook}\",status=\"degraded\"}} 1"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line} in {text}");
    }
}

#[tokio::test]
async fn metrics_are_per_tenant_and_require_the_scope_read() {
    let stage = Stage::new().await;
    let webhook = stage.webhook().await;
    let other = stage.token("other", &[Scope::Read]).await;
    let text = stage.call(&other, Method::GET, "/metrics", "").await.text;
    assert!(
        text.contains("webhook_failed_count 0\n") && !text.contains(&webhook),
        "{text}"
    );
    let publisher = stage.token("default", &[Scope::Publish]).await;
    let refused = stage.call(&publisher, Method::GET, "/metrics", "").await;
    refused.problem(403, "missing_scope");
    let stranger = stage.call("unknown", Method::GET, "/metrics", "").await;
    stranger.problem(401, "invalid_token");
}

#[tokio::test]
async fn the_window_of_the_gauges_can_be_set() {
    let stage = Stage::new().await;
    stage.webhook().await;
    let id = stage.delivery().await;
    stage.attempt(&id, Transition::Deliver).await;
    stage
        .clock
        .advance(postrider_domain::time::Millis::from_seconds(7200));
    let shown = |text: &str| text.contains("webhook_delivery_success_rate 100\n");
    assert!(shown(&stage.get("/metrics").await.text));
    assert!(!shown(&stage.get("/metrics?window=1h").await.text));
    stage
        .get("/metrics?window=1y")
        .await
        .refuses("window", "31d");
    stage
        .get("/metrics?from=now")
        .await
        .refuses("from", "not known");
}
