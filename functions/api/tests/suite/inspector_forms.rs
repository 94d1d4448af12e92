//! The Inspector's forms: secrets are never shown, and invalid input is reported and changes nothing.

use http::StatusCode;
use serde_json::json;

use crate::inspector::{get, log_in, post};
use crate::rejected::source;
use crate::stage::Stage;

#[tokio::test]
async fn no_page_and_no_form_shows_a_secret() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let (github, _) = source(&stage, "github").await;
    let meta =
        json!({"name": "M", "scheme": "meta", "secret": "canary", "verify_token": "canary-token"});
    let meta = stage.post("/v1/sources", meta).await.expect(201);
    let webhook = json!({
        "name": "W", "target_url": "https://receiver.example/", "event_types": ["a"],
        "headers": {"authorization": "Bearer canary", "x-api-key": "canary"},
    });
    let webhook = stage.post("/v1/webhooks", webhook).await.expect(201);
    let secret = webhook["secret"].as_str().unwrap();
    let (meta, webhook) = (
        meta["id"].as_str().unwrap(),
        webhook["id"].as_str().unwrap(),
    );
    for path in [
        "/inspector".to_owned(),
        "/inspector/sources".to_owned(),
        format!("/inspector/sources/{github}"),
        format!("/inspector/sources/{github}/edit"),
        format!("/inspector/sources/{meta}"),
        format!("/inspector/sources/{meta}/edit"),
        format!("/inspector/webhooks/{webhook}"),
        format!("/inspector/webhooks/{webhook}/edit"),
    ] {
        let page = get(&stage, &path, &cookie).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        assert!(
            !page.text.contains("canary") && !page.text.contains(secret),
            "{path}"
        );
    }
    // A field left empty keeps its value, the token included.
    let form = "name=Renamed&routes[0].event_type=&public_url=";
    let saved = post(
        &stage,
        &format!("/inspector/sources/{meta}/edit"),
        &cookie,
        form,
    )
    .await;
    assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text);
    let changed = stage.get(&format!("/v1/sources/{meta}")).await.expect(200);
    assert_eq!(
        (&changed["name"], &changed["has_verify_token"]),
        (&json!("Renamed"), &json!(true))
    );
}

#[tokio::test]
async fn an_invalid_form_shows_errors_and_changes_nothing() {
    let stage = Stage::new().await;
    let cookie = log_in(&stage, &stage.admin).await;
    let webhook = stage.webhook().await;
    let (id, path) = source(&stage, "github").await;
    let before = (
        stage.get(&path).await.text,
        stage.get("/v1/webhooks").await.text,
    );
    let many: Vec<_> = (0..=100).map(|n| format!("routes[{n}].intent=i")).collect();
    let sources = [
        "/inspector/sources/new".to_owned(),
        format!("/inspector/sources/{id}/edit"),
    ];
    let webhooks = [
        "/inspector/webhooks/new".to_owned(),
        format!("/inspector/webhooks/{webhook}/edit"),
    ];
    let both = [sources.clone(), webhooks.clone()].concat();
    let fit = "name=n&target_url=https://a.example/&event_types=a";
    for (pages, form) in [
        (&both[..], "".to_owned()),
        (&both, "%FF%FE=%00".to_owned()),
        (&both, "name=%00&scheme=github".to_owned()),
        (&both, format!("scheme=github&name={}", "n".repeat(5_000))),
        (&sources[..1], "name=n&scheme=custom".to_owned()),
        (&sources[..1], "name=n&scheme=discord".to_owned()),
        (
            &sources,
            "name=n&scheme=github&public_url=javascript:alert(1)".to_owned(),
        ),
        (
            &sources,
            "name=n&scheme=github&routes[0].event_type=a..b&routes[0].webhook_id=x".to_owned(),
        ),
        (&sources, format!("name=n&scheme=github&{}", many.join("&"))),
        (
            &sources,
            format!(
                "name=n&scheme=github&routes[0].event_type=a&routes[0].intent=i&routes[0].webhook_id={webhook}&routes[0].filter=%7B"
            ),
        ),
        (&webhooks, format!("{fit}&filter=%7B%22a%22:1%7D")),
        (&webhooks, format!("{fit}&filter=%7B&do=matches")),
        (
            &webhooks,
            format!("{fit}&headers[0].name=host&headers[0].value=x"),
        ),
        (
            &webhooks,
            format!("{fit}&headers[0].name=a%0D%0Ab&headers[0].value=x"),
        ),
        (
            &webhooks,
            format!("{fit}&headers[0].name=x-a&headers[0].value=a%0D%0Ab:%20c"),
        ),
    ] {
        for page in pages {
            let answer = post(&stage, page, &cookie, &form).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{page} {form}");
            assert!(answer.text.contains("role=\"alert\""), "{page} {form}");
        }
    }
    let after = (
        stage.get(&path).await.text,
        stage.get("/v1/webhooks").await.text,
    );
    assert_eq!(before, after);
}
