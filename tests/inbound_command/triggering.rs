//! `postrider trigger`.

use postrider_domain::scheme::Scheme;
use postrider_samples as sample;
use postrider_testkit::receiver::Answer;

use super::Stage;

#[tokio::test]
async fn a_triggered_event_of_every_scheme_reaches_the_receiver() {
    let stage = Stage::new().await;
    for (n, scheme) in Scheme::all().enumerate() {
        let (id, secret) = stage.source(scheme.name).await;
        let sample = sample::events(scheme)[0];
        let line = [
            "trigger",
            scheme.name,
            sample.name,
            "--source",
            &id,
            "--secret",
            &secret,
            "--wait",
            "--json",
        ];
        let ended = stage.run(&line).await;
        assert_eq!(ended.code, 0, "{}: {}{}", scheme.name, ended.out, ended.err);
        assert_eq!(ended.json()["deliveries"][0]["status"], "delivered");
        let received = stage.receiver.received(n + 1).await;
        let request = received.last().unwrap();
        assert_eq!(
            request.header("x-webhook-event"),
            sample.name,
            "{}",
            scheme.name
        );
        assert_eq!(request.header("x-webhook-intent"), "review");
        assert_eq!(request.header("x-webhook-session"), "cluster");
    }
}

#[tokio::test]
async fn a_given_body_arrives_byte_for_byte_and_once() {
    let stage = Stage::new().await;
    let (_, secret) = stage.source("github").await;
    let body = b"{ \"action\":\"closed\",  \"n\": 1.00 }\n";
    let line = [
        "trigger",
        "github",
        "issues.closed",
        "--body",
        "-",
        "--secret",
        &secret,
        "--id",
        "d-1",
        "--json",
    ];
    let first = stage.run_with_input(&line, body).await.well().json();
    let again = stage.run_with_input(&line, body).await.well().json();
    assert_eq!(
        (&first["id"], &again["duplicate"]),
        (&again["id"], &true.into())
    );
    let received = stage.receiver.received(1).await;
    assert_eq!(received[0].body.as_ref(), body);
    assert_eq!(received[0].header("x-webhook-event"), "issues.closed");
}

#[tokio::test]
async fn a_custom_scheme_can_be_triggered() {
    let stage = Stage::new().await;
    let folder = tempfile::tempdir().unwrap();
    let described = folder.path().join("scheme.json");
    let custom = r#"{"header":"x-signature","prefix":"v1=","signed":"{timestamp}.{body}","timestamp":"header:x-time",
        "event_type":["body:/kind"],"delivery_id":["header:x-delivery"]}"#;
    std::fs::write(&described, custom).unwrap();
    let described = described.to_str().unwrap();
    let route = format!("door.*=open->{}", stage.webhook);
    let create = [
        "sources", "create", "--scheme", "custom", "--custom", described, "--secret", "s",
        "--route", &route,
    ];
    let created = stage.run(&create).await.well();
    assert!(created.out.contains("x-signature"), "{}", created.out);
    let trigger = [
        "trigger", "custom", "--body", "-", "--secret", "s", "--wait",
    ];
    stage
        .run_with_input(&trigger, br#"{"kind":"door.opened"}"#)
        .await
        .well();
    let received = stage.receiver.received(1).await;
    assert_eq!(received[0].header("x-webhook-event"), "door.opened");
}

#[tokio::test]
async fn a_handshake_is_answered_as_its_sender_expects() {
    let stage = Stage::new().await;
    let (id, secret) = stage.source("slack").await;
    let line = ["trigger", "slack", "--body", "-", "--secret", &secret];
    let question = br#"{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}"#;
    let answered = stage.run_with_input(&line, question).await.well();
    assert!(answered.out.contains("200 OK"), "{}", answered.out);
    assert!(answered.out.contains("3eZbrw1aBm2rZg"), "{}", answered.out);
    let rejected = stage.run(&["sources", "diagnose", &id]).await.well();
    assert!(
        rejected.err.contains("No requests were rejected"),
        "{}",
        rejected.err
    );
}

#[tokio::test]
async fn any_url_can_be_triggered_without_a_gateway() {
    let stage = Stage::new().await;
    stage
        .receiver
        .answer(Answer::status(418).body("short and stout"));
    let url = stage.receiver.url();
    let line = [
        "trigger",
        "slack",
        "message",
        "--to",
        &url,
        "--secret",
        "s",
        "--url",
        "http://127.0.0.1:1",
    ];
    let ended = stage.run(&line).await;
    assert_eq!(ended.code, 1, "{}{}", ended.out, ended.err);
    assert!(ended.out.contains("418") && ended.out.contains("short and stout"));
    let received = stage.receiver.requests();
    assert!(received[0].header("x-slack-signature").starts_with("v0="));
    assert!(!received[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn samples_are_listed_and_unknown_ones_are_rejected() {
    let stage = Stage::new().await;
    let listed = stage.run(&["trigger", "--list"]).await.well();
    for scheme in Scheme::all() {
        assert!(listed.out.contains(scheme.name), "{}", scheme.name);
    }
    let (id, _) = stage.source("github").await;
    for (line, code, part) in [
        (
            vec!["trigger", "github", "fork", "--secret", "s"],
            2,
            "pull_request.opened",
        ),
        (
            vec!["trigger", "stripe", "--secret", "s"],
            2,
            "sources create --scheme stripe",
        ),
        (
            vec!["trigger", "stripe", "--source", &id, "--secret", "s"],
            2,
            "`github`, not `stripe`",
        ),
        (vec!["trigger", "rot13", "--secret", "s"], 2, "rot13"),
        (
            vec![
                "trigger",
                "discord",
                "--secret",
                "s",
                "--to",
                "http://127.0.0.1:1/",
            ],
            2,
            "private key",
        ),
        (
            vec![
                "trigger",
                "slack",
                "--secret",
                "s",
                "--to",
                "http://127.0.0.1:1/",
            ],
            4,
            "no response from",
        ),
    ] {
        let rejected = stage.run(&line).await;
        assert_eq!(rejected.code, code, "{line:?}: {}", rejected.err);
        assert!(rejected.err.contains(part), "{line:?}: {}", rejected.err);
    }
}
