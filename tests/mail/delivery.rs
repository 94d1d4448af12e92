//! E-mails to owners.

use std::collections::BTreeSet;

use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::{Value, json};

use super::server::SmtpServer;
use super::{FROM, OPEN, PUBLIC, failing_webhook, part};
use crate::command::{Serve, refused_start};

fn assert_sound(mail: &Value) {
    assert_eq!(mail["defects"], json!([]), "{mail}");
    assert_eq!(mail["type"], "multipart/alternative", "{mail}");
    assert_eq!(mail["from"], "alerts@example.com", "{mail}");
    let headers = &mail["headers"];
    assert_eq!(headers["from"], "Postrider <alerts@example.com>");
    assert_eq!(headers["auto-submitted"], "auto-generated");
    assert!(headers["date"].is_string() && headers["message-id"].is_string());
}

#[tokio::test]
async fn an_owner_gets_one_email_however_many_deliveries_fail() {
    let mut smtp = SmtpServer::plain().await;
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(500));
    let url = smtp.url();
    let gateway = Serve::start(&[OPEN, FROM, PUBLIC, ("POSTRIDER_SMTP_URL", &url)]).await;
    let name = "Bestellungen <€>";
    let owner = Some("owner@example.com");
    let webhook = failing_webhook(&gateway, &receiver.url(), name, owner).await;
    let mut deliveries = BTreeSet::new();
    for _ in 0..2 {
        deliveries.insert(gateway.publish(&webhook, "{\"canary\":true}").await);
    }
    let mail = smtp.said().await;
    assert_sound(&mail);
    assert_eq!(mail["to"], json!(["owner@example.com"]));
    let headline = format!("Webhook '{name}' has failed after 1 retry");
    assert_eq!(mail["headers"]["subject"], headline);
    let link = format!("https://gateway.example.com/inspector/webhooks/{webhook}");
    let text = part(&mail, "text/plain");
    assert!(text.contains(&headline), "{text}");
    let html = part(&mail, "text/html");
    assert!(
        html.contains("&#60;€&#62;") || html.contains("&lt;€&gt;"),
        "{html}"
    );
    for body in [text, html] {
        for what in ["HTTP status 500", "task.completed", &link] {
            assert!(body.contains(what), "{what} in {body}");
        }
        assert!(deliveries.iter().any(|id| body.contains(id)), "{body}");
        assert!(!body.contains("canary"), "{body}");
    }
    // E-mails arrive in order: the next one is about the next failed webhook.
    let next = failing_webhook(&gateway, &receiver.url(), "next", owner).await;
    gateway.publish(&next, "{}").await;
    let mail = smtp.said().await;
    let subject = mail["headers"]["subject"].as_str().unwrap();
    assert!(subject.starts_with("Webhook 'next' has failed"), "{mail}");
}

#[tokio::test]
async fn three_failures_in_a_row_warn_the_alert_address_once() {
    let mut smtp = SmtpServer::plain().await;
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(503));
    let url = smtp.url();
    let alerts = ("POSTRIDER_ALERT_ADDRESS", "ops@example.com");
    let gateway = Serve::start(&[OPEN, FROM, alerts, ("POSTRIDER_SMTP_URL", &url)]).await;
    let webhook = gateway
        .webhook(&receiver.url(), &json!({"max_attempts": 1}))
        .await;
    for _ in 0..5 {
        let id = gateway.publish(&webhook, "{}").await;
        assert_eq!(gateway.settled(&id).await["status"], "dead");
    }
    let mail = smtp.said().await;
    assert_sound(&mail);
    assert_eq!(mail["to"], json!(["ops@example.com"]));
    assert_eq!(
        mail["headers"]["subject"],
        "Webhook 'test' has failed 3 times in a row and is being retried"
    );
    assert!(part(&mail, "text/plain").contains("HTTP status 503"));
    let next = failing_webhook(&gateway, &receiver.url(), "next", None).await;
    gateway.publish(&next, "{}").await;
    let subject = smtp.said().await["headers"]["subject"].clone();
    assert_eq!(subject, "Webhook 'next' has failed after 1 retry");
}

#[tokio::test]
async fn contradictory_settings_prevent_the_start() {
    let said = refused_start(&[
        (
            "POSTRIDER_SMTP_URL",
            "smtp://ops:canary@mail.example.com?tls=none",
        ),
        ("POSTRIDER_ALERT_ADDRESS", "not-an-address"),
    ])
    .await;
    for name in [
        "POSTRIDER_SMTP_URL",
        "POSTRIDER_MAIL_FROM",
        "POSTRIDER_ALERT_ADDRESS",
    ] {
        assert!(said.contains(&format!("{name}: ")), "{said}");
    }
    assert!(!said.contains("canary"), "{said}");
    let bad_file = refused_start(&[
        FROM,
        ("POSTRIDER_SMTP_URL", "smtps://mail.example.com"),
        ("POSTRIDER_SMTP_CA_FILE", "/nowhere/ca.pem"),
    ])
    .await;
    assert!(bad_file.contains("POSTRIDER_SMTP_CA_FILE"), "{bad_file}");
}
