//! A mail server that is down.

use std::path::Path;
use std::time::Duration;

use postrider_testkit::receiver::{Answer, Receiver};
use serde_json::json;

use super::server::SmtpServer;
use super::{FROM, OPEN, failing_webhook};
use crate::command::{PATIENCE, Serve};

const LOG: (&str, &str) = ("POSTRIDER_LOG", "trace,hyper=info,hyper_util=info");
const PASSWORD: &str = "canary-of-the-password";

async fn logged(log: &Path, line: &str) {
    let mut looks = tokio::time::interval(Duration::from_millis(50));
    let wait = async {
        while !std::fs::read_to_string(log).unwrap().contains(line) {
            looks.tick().await;
        }
    };
    let seen = tokio::time::timeout(PATIENCE, wait).await;
    seen.unwrap_or_else(|_| panic!("{line} is logged"));
}

#[tokio::test]
async fn it_delays_only_emails_and_they_survive_a_crash() {
    let port = SmtpServer::plain().await.stop().await;
    let url = format!("smtp://ops:{PASSWORD}@127.0.0.1:{port}?tls=none");
    let settings = [OPEN, FROM, LOG, ("POSTRIDER_SMTP_URL", url.as_str())];
    let (data, logs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (logs.path().join("1"), logs.path().join("2"));
    let receiver = Receiver::start().await;
    receiver.answer(Answer::status(500));
    let mut gateway = Serve::start_logged(data.path(), &settings, &first).await;
    let owner = Some("owner@example.com");
    let webhook = failing_webhook(&gateway, &receiver.url(), "orders", owner).await;
    gateway.publish(&webhook, "{}").await;
    logged(&first, "mail.deferred").await;
    // Everything else continues.
    receiver.answer(Answer::status(200));
    let other = gateway
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    let delivery = gateway.publish(&other, "{}").await;
    assert_eq!(gateway.settled(&delivery).await["status"], "delivered");
    gateway.kill().await;

    let gateway = Serve::start_logged(data.path(), &settings, &second).await;
    logged(&second, "mail.deferred").await;
    let login = json!({"port": port, "login": ["ops", PASSWORD]});
    let mut smtp = SmtpServer::start(login).await;
    let mail = smtp.said().await;
    assert_eq!(mail["user"], "ops");
    assert_eq!(mail["to"], json!(["owner@example.com"]));
    logged(&second, "mail.sent").await;
    drop(gateway);
    for log in [first, second] {
        let log = std::fs::read_to_string(log).unwrap();
        assert!(!log.contains(PASSWORD) && !log.contains("owner@example.com"));
    }
}
