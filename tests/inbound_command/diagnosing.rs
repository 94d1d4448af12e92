//! `postrider sources diagnose`.

use serde_json::Value;

use super::Stage;

async fn findings(stage: &Stage, source: &str) -> Vec<Value> {
    let diagnosed = stage.run(&["sources", "diagnose", source, "--json"]).await;
    assert_eq!(diagnosed.code, 1, "{}{}", diagnosed.out, diagnosed.err);
    let items = diagnosed.json()["items"].as_array().unwrap().clone();
    items
        .iter()
        .map(|item| item["findings"][0].clone())
        .collect()
}

#[tokio::test]
async fn a_source_without_rejected_requests_has_nothing_to_diagnose() {
    let stage = Stage::new().await;
    let (id, secret) = stage.source("github").await;
    stage
        .run(&["trigger", "github", "--secret", &secret])
        .await
        .well();
    let diagnosed = stage.run(&["sources", "diagnose", &id]).await.well();
    assert!(
        diagnosed.err.contains("No requests were rejected"),
        "{}",
        diagnosed.err
    );
}

#[tokio::test]
async fn a_rejected_request_is_shown_with_what_would_have_matched() {
    let stage = Stage::new().await;
    let (id, secret) = stage.source("stripe").await;
    let wrong = stage
        .run(&["trigger", "stripe", "--secret", "whsec_wrong"])
        .await;
    assert_eq!(wrong.code, 3, "{}", wrong.err);
    assert!(
        wrong.err.contains(&format!("sources diagnose {id}")),
        "{}",
        wrong.err
    );
    let late = stage
        .run(&["trigger", "stripe", "--secret", &secret, "--at", "10m"])
        .await;
    assert_eq!(late.code, 3, "{}", late.err);

    let found = findings(&stage, &id).await;
    let kinds: Vec<_> = found.iter().map(|finding| &finding["kind"]).collect();
    assert_eq!(kinds, ["clock", "nothing"], "the newest first");
    let off = found[0]["seconds_off"].as_i64().unwrap();
    assert!((-700..=-600).contains(&off), "{off}");

    let diagnosed = stage.run(&["sources", "diagnose", &id]).await;
    assert_eq!(diagnosed.code, 1, "{}", diagnosed.err);
    for part in [
        "rfd_",
        "a wrong clock",
        "postrider doctor",
        "both sides use the same secret",
    ] {
        assert!(diagnosed.out.contains(part), "{part} in {}", diagnosed.out);
    }
    assert!(!diagnosed.out.contains(&secret));
}

#[tokio::test]
async fn one_rejected_request_is_shown_with_headers_and_body() {
    let stage = Stage::new().await;
    let (id, _) = stage.source("github").await;
    let line = [
        "trigger",
        "github",
        "--secret",
        "wrong",
        "--header",
        "X-Note: hello",
    ];
    assert_eq!(stage.run(&line).await.code, 3);
    let listed = stage
        .run(&["sources", "diagnose", &id, "--json"])
        .await
        .json();
    let refused = listed["items"][0]["id"].as_str().unwrap();
    let shown = stage.run(&["sources", "diagnose", &id, refused]).await;
    for part in [
        "x-note: hello",
        "x-hub-signature-256: sha256=",
        "octocat",
        "→",
    ] {
        assert!(shown.out.contains(part), "{part} in {}", shown.out);
    }
    let missing = stage.run(&["sources", "diagnose", &id, "rfd_x"]).await;
    assert_eq!(missing.code, 3, "{}", missing.err);
}

#[tokio::test]
async fn a_key_that_may_only_read_sees_reasons_but_no_headers_or_bodies() {
    let stage = Stage::new().await;
    let (id, _) = stage.source("github").await;
    let line = ["trigger", "github", "--secret", "wrong"];
    assert_eq!(stage.run(&line).await.code, 3);
    let create = ["keys", "create", "--name", "r", "--scope", "read", "--json"];
    let key = stage.run(&create).await.well().json();
    let key = key["token"].as_str().unwrap();
    let diagnosed = stage
        .run(&["sources", "diagnose", &id, "--token", key])
        .await;
    assert_eq!(diagnosed.code, 1, "{}", diagnosed.err);
    assert!(diagnosed.out.contains("no signature matches"));
    assert!(!diagnosed.out.contains("both sides use the same secret"));
    assert!(diagnosed.err.contains("scope manage"), "{}", diagnosed.err);
}

#[tokio::test]
async fn a_captured_request_is_diagnosed_without_a_gateway() {
    let stage = Stage::new().await;
    let line = [
        "trigger",
        "github",
        "push",
        "--to",
        "http://127.0.0.1:1/",
        "--secret",
        "s",
        "--dry-run",
    ];
    let captured = stage.run(&line).await.well().out;
    let diagnose = |secret: &'static str| {
        [
            "sources",
            "diagnose",
            "--request",
            "-",
            "--scheme",
            "github",
            "--secret",
            secret,
            "--url",
            "http://127.0.0.1:1",
        ]
    };
    let right = stage
        .run_with_input(&diagnose("s"), captured.as_bytes())
        .await
        .well();
    assert!(right.out.contains("it matches"), "{}", right.out);
    let changed = format!("{captured}\n");
    let changed = stage
        .run_with_input(&diagnose("s"), changed.as_bytes())
        .await;
    assert_eq!(changed.code, 1);
    assert!(
        changed.out.contains("without the trailing line break"),
        "{}",
        changed.out
    );
    let wrong = stage
        .run_with_input(&diagnose("t"), captured.as_bytes())
        .await;
    assert!(wrong.out.contains("nothing matches"), "{}", wrong.out);
}
