//! `postrider sources`.

use serde_json::json;

use super::Stage;

#[tokio::test]
async fn a_source_is_created_changed_and_deleted() {
    let stage = Stage::new().await;
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "It's a Secret to Everybody\n").unwrap();
    let secret = secret.to_str().unwrap();
    let create = [
        "sources",
        "create",
        "--scheme",
        "github",
        "--name",
        "Forge",
        "--secret-file",
        secret,
    ];
    let created = stage.run(&create).await.well();
    assert!(
        created.out.contains("/gateway/webhooks/src_"),
        "{}",
        created.out
    );
    assert!(!format!("{}{}", created.out, created.err).contains("Secret to"));
    assert!(
        created.err.contains("postrider trigger github"),
        "{}",
        created.err
    );

    let listed = stage
        .run(&["sources", "list", "--json"])
        .await
        .well()
        .json();
    let id = listed["items"][0]["id"].as_str().unwrap();
    let changed = stage
        .run(&["sources", "update", id, "--name", "Other", "--json"])
        .await;
    assert_eq!(changed.well().json()["name"], "Other");
    let rotate = ["sources", "rotate-secret", id, "--secret-file", "-"];
    let rotated = stage.run_with_input(&rotate, b"another one\n").await.well();
    assert!(rotated.err.contains("stays valid until"), "{}", rotated.err);
    for secret in ["It's a Secret to Everybody", "another one"] {
        let trigger = ["trigger", "github", "push", "--secret", secret];
        stage.run(&trigger).await.well();
    }

    stage.run(&["sources", "delete", id]).await.well();
    let gone = stage.run(&["sources", "show", id]).await;
    assert_eq!(gone.code, 3, "{}", gone.err);
}

#[tokio::test]
async fn routes_are_set_and_shown() {
    let stage = Stage::new().await;
    let (id, _) = stage.source("github").await;
    let webhook = &stage.webhook;
    let (first, second) = (
        format!("pull_request.*=code_review:reviewer-cluster->{webhook}"),
        format!("*=archive->{webhook}"),
    );
    let set = [
        "sources", "routes", "set", &id, "--route", &first, "--route", &second,
    ];
    let shown = stage.run(&set).await.well();
    assert!(shown.out.contains("reviewer-cluster"), "{}", shown.out);
    let routes = stage
        .run(&["sources", "routes", "get", &id, "--json"])
        .await;
    let expected = json!({"routes": [
        {"event_type": "pull_request.*", "intent": "code_review", "target_session": "reviewer-cluster", "filter": null, "webhook_id": webhook},
        {"event_type": "*", "intent": "archive", "target_session": null, "filter": null, "webhook_id": webhook},
    ]});
    let routes = routes.well();
    assert_eq!(routes.json(), expected);

    // The output can be used as input.
    let again = [
        "sources",
        "routes",
        "set",
        &id,
        "--routes-file",
        "-",
        "--json",
    ];
    let again = stage.run_with_input(&again, routes.out.as_bytes()).await;
    assert_eq!(again.well().json(), expected);
    let none = stage
        .run(&["sources", "routes", "set", &id, "--none", "--json"])
        .await;
    assert_eq!(none.well().json(), json!({"routes": []}));
}

#[tokio::test]
async fn the_public_url_is_built_from_the_public_base() {
    let stage = Stage::new().await;
    let line = [
        "sources",
        "create",
        "--scheme",
        "twilio",
        "--generate",
        "--public-base",
        "https://hooks.example/prod/",
        "--json",
    ];
    let created = stage.run(&line).await.well().json();
    let expected = format!(
        "https://hooks.example/prod{}",
        created["url"].as_str().unwrap()
    );
    assert_eq!(created["public_url"], expected);
    let secret = created["secret"].as_str().unwrap();
    let line = ["trigger", "twilio", "--secret", secret];
    let sent = stage.run(&line).await.well();
    assert!(sent.out.contains("No route"), "{}", sent.out);
}

#[tokio::test]
async fn an_invalid_source_is_rejected_with_the_field_and_changes_nothing() {
    let stage = Stage::new().await;
    let create = |more: &[&'static str]| [&["sources", "create", "--scheme"], more].concat();
    for (line, code, part) in [
        (create(&["rot13", "--secret", "canary"]), 2, "rot13"),
        (
            create(&["standard", "--secret", "canary"]),
            3,
            "secret: does not fit the scheme",
        ),
        (
            create(&["twilio", "--secret", "canary"]),
            3,
            "public_url: must be set",
        ),
        (
            create(&["github", "--secret", "canary", "--route", "nonsense"]),
            2,
            "TYPE=INTENT",
        ),
        (
            create(&["github", "--secret", "canary", "--route", "a=b->wh_x"]),
            3,
            "routes[0].webhook_id",
        ),
        (
            create(&["custom", "--secret", "canary"]),
            2,
            "--custom is required",
        ),
        (create(&["github"]), 2, "POSTRIDER_SOURCE_SECRET"),
    ] {
        let rejected = stage.run(&line).await;
        assert_eq!(rejected.code, code, "{line:?}: {}", rejected.err);
        assert!(rejected.err.contains(part), "{line:?}: {}", rejected.err);
        assert!(!rejected.err.contains("canary"), "{}", rejected.err);
    }
    assert_eq!(stage.get("/v1/sources").await["items"], json!([]));
}
