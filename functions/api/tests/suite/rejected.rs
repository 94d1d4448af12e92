//! Rejected requests and their diagnosis.

use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use postrider_domain::ids::{SourceId, TenantId};
use postrider_domain::inbound::{Inbound, Rejection};
use postrider_domain::key::Scope;
use postrider_domain::rejected::RejectedRequest;
use serde_json::{Value, json};

use crate::stage::Stage;

/// Creates a source; returns its id and its API path.
pub(crate) async fn source(stage: &Stage, scheme: &str) -> (SourceId, String) {
    let given = json!({"name": "Forge", "scheme": scheme, "secret": "canary of a secret"});
    let made = stage.post("/v1/sources", given).await.expect(201);
    let id = made["id"].as_str().unwrap();
    (id.parse().unwrap(), format!("/v1/sources/{id}"))
}

/// Sends a request to the source that is rejected.
pub(crate) async fn refuse(
    stage: &Stage,
    id: SourceId,
    headers: &[(&str, &str)],
    body: &'static [u8],
) {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap()))
        .collect();
    let inbound = Inbound {
        path: format!("/gateway/webhooks/{id}"),
        query: Some("a=1&hub.verify_token=canary".to_owned()),
        ..Inbound::post(headers, Bytes::from_static(body))
    };
    let refused = stage
        .gateway
        .receive
        .receive(&id.to_string(), inbound, || ())
        .await;
    assert!(refused.is_err());
}

#[tokio::test]
async fn rejected_requests_are_listed_newest_first() {
    let stage = Stage::new().await;
    let (id, path) = source(&stage, "github").await;
    let refused = format!("{path}/refused");
    let empty = json!({"items": [], "kept": 0, "counted": 0, "next_cursor": null});
    assert_eq!(stage.get(&refused).await.expect(200), empty);
    refuse(&stage, id, &[], b"{}").await;
    let signed = [
        ("x-hub-signature-256", "sha256=canary"),
        ("content-type", "application/json"),
    ];
    refuse(&stage, id, &signed, b"canary").await;
    let listed = stage.get(&refused).await;
    assert!(!listed.text.contains("canary"), "{}", listed.text);
    let listed = listed.expect(200);
    assert_eq!(
        (&listed["kept"], &listed["counted"]),
        (&json!(2), &json!(0))
    );
    let newest = &listed["items"][0];
    assert!(newest["id"].as_str().unwrap().starts_with("rfd_"));
    let shown = json!({
        "id": newest["id"], "at": "2026-02-21T10:00:00.000Z", "reason": "unsigned",
        "detail": "no signature in the scheme's format", "method": "POST",
        "path": format!("/gateway/webhooks/{id}"), "header_names": ["x-hub-signature-256", "content-type"],
        "content_type": "application/json", "body_bytes": 6,
    });
    assert_eq!(newest, &shown);
    assert_eq!(listed["items"][1]["content_type"], Value::Null);
    let one = stage.get(&format!("{refused}?limit=1")).await.expect(200);
    assert_eq!(one["items"], json!([shown]));
    for bad in ["0", "101", "x", "-1"] {
        let answer = stage.get(&format!("{refused}?limit={bad}")).await;
        answer.refuses("limit", "1 to 100");
    }
    let answer = stage.get(&format!("{refused}?cursor=x")).await;
    answer.refuses("cursor", "not known");
}

#[tokio::test]
async fn a_rejected_request_is_shown_with_its_diagnosis() {
    let stage = Stage::new().await;
    let (id, path) = source(&stage, "github").await;
    let headers = [
        ("x-hub-signature-256", "00"),
        ("authorization", "Bearer canary"),
    ];
    refuse(&stage, id, &headers, b"\"text\"").await;
    refuse(&stage, id, &[], b"\xff").await;
    let listed = stage.get(&format!("{path}/refused")).await.expect(200);
    let item = |n: usize| listed["items"][n].clone();
    let show = async |n: usize| {
        let id = item(n)["id"].as_str().unwrap().to_owned();
        stage.get(&format!("{path}/refused/{id}")).await
    };
    let shown = show(1).await;
    assert!(!shown.text.contains("canary"));
    let shown = shown.expect(200);
    for (field, value) in item(1).as_object().unwrap() {
        assert_eq!(&shown[field], value, "{field}");
    }
    assert_eq!(shown["query"], "a=1&hub.verify_token=(hidden)");
    let headers = json!([
        {"name": "x-hub-signature-256", "value": "00"},
        {"name": "authorization", "value": null},
    ]);
    assert_eq!(shown["headers"], headers);
    assert_eq!(
        (&shown["body"], &shown["body_base64"]),
        (&json!("\"text\""), &Value::Null)
    );
    assert_eq!(shown["is_cut"], false);
    let expected = "header `x-hub-signature-256: sha256=<lowercase hex>`";
    let finding = json!({
        "kind": "other_form", "expected": expected,
        "text": format!("not in the expected format: {expected}"),
        "advice": ["Check which scheme and version the sender uses. It does not match this source's scheme."],
    });
    assert_eq!(shown["findings"], json!([finding]));
    let binary = show(0).await.expect(200);
    assert_eq!(
        (&binary["body"], &binary["body_base64"]),
        (&Value::Null, &json!("/w=="))
    );
    assert_eq!(binary["findings"][0]["kind"], "missing");
}

#[tokio::test]
async fn a_secret_sent_in_a_header_is_not_shown() {
    let stage = Stage::new().await;
    // Even if the source expects another scheme: the secret may be correct.
    for scheme in ["gitlab", "github"] {
        let (id, path) = source(&stage, scheme).await;
        refuse(&stage, id, &[("x-gitlab-token", "canary")], b"{}").await;
        let listed = stage.get(&format!("{path}/refused")).await.expect(200);
        let refused = listed["items"][0]["id"].as_str().unwrap();
        let shown = stage.get(&format!("{path}/refused/{refused}")).await;
        assert!(!shown.text.contains("canary"), "{}", shown.text);
        assert_eq!(shown.expect(200)["headers"][0]["name"], "x-gitlab-token");
    }
}

#[tokio::test]
async fn a_request_too_long_to_store_completely_is_marked() {
    let stage = Stage::new().await;
    let (id, path) = source(&stage, "github").await;
    let found = stage
        .gateway
        .sources
        .get(&TenantId::default(), id)
        .await
        .unwrap();
    let signature = format!("sha256={}", "00".repeat(32)).parse().unwrap();
    let headers =
        HeaderMap::from_iter([(HeaderName::from_static("x-hub-signature-256"), signature)]);
    let inbound = Inbound::post(headers, Bytes::from(vec![b'x'; 50_000]));
    let at = found.created_at;
    let cut = RejectedRequest::of(&found, inbound, Rejection::NoMatch, at);
    let kept = stage
        .gateway
        .ports
        .store
        .store_rejected(cut)
        .await
        .unwrap()
        .unwrap();
    let shown = stage
        .get(&format!("{path}/refused/{kept}"))
        .await
        .expect(200);
    assert_eq!(
        (&shown["is_cut"], &shown["body_bytes"]),
        (&json!(true), &json!(50_000))
    );
    assert!(shown["body"].as_str().unwrap().len() < 33_000);
    assert_eq!(shown["findings"][0]["kind"], "body_cut");
}

#[tokio::test]
async fn an_unknown_request_is_not_found_and_its_content_requires_manage() {
    let stage = Stage::new().await;
    let (id, path) = source(&stage, "github").await;
    let (_, other) = source(&stage, "github").await;
    refuse(&stage, id, &[], b"{}").await;
    let listed = stage.get(&format!("{path}/refused")).await.expect(200);
    let refused = listed["items"][0]["id"].as_str().unwrap();
    for path in [
        format!("{path}/refused/nonsense"),
        format!("{path}/refused/rfd_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
        format!("{other}/refused/{refused}"),
    ] {
        stage.get(&path).await.problem(404, "not_found");
    }
    let reader = stage.token("default", &[Scope::Read]).await;
    let detail = format!("{path}/refused/{refused}");
    let denied = stage.call(&reader, http::Method::GET, &detail, "").await;
    denied.problem(403, "missing_scope");
    stage.get(&detail).await.expect(200);
}
