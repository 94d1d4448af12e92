//! E-mails that a server rejects, and servers that are not trusted.

use std::sync::Arc;

use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_adapter_smtp::{FromAddress, Server, SmtpMail};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::time::{Millis, Timestamp};
use postrider_domain::webhook::Webhook;
use postrider_gateway::mail::{Addresses, MailRound, MailSender};
use postrider_ports::clock::Clock;
use postrider_ports::configs::Created;
use postrider_ports::mail::{Email, Mail};
use postrider_ports::mail_outbox::MailOutbox;
use postrider_testkit::builders::{self, NOW};
use postrider_testkit::clock::SteppedClock;
use postrider_testkit::store_suite::{Handle, Scene, WaitingRows};
use serde_json::{Value, json};

use super::server::SmtpServer;

fn mail(url: &str, roots: Option<&[u8]>) -> SmtpMail {
    let from = FromAddress::parse("alerts@example.com").unwrap();
    SmtpMail::new(Server::parse(url).unwrap(), from, roots).unwrap()
}

/// A store with e-mails, a stopped clock and a mail sender.
struct Stage {
    store: Arc<SqliteStore>,
    clock: Arc<SteppedClock>,
    mail_sender: MailSender,
    _data: tempfile::TempDir,
}

impl Stage {
    /// With a failed webhook per owner, in this order.
    async fn with_emails_to(owners: &[&str], server: &SmtpServer) -> Self {
        let data = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(data.path(), SqliteOptions::default()).unwrap();
        let process = store.process().to_owned();
        let scene = Scene::of(Handle {
            store: Arc::clone(&store) as _,
            process,
            embedded: None,
            waiting_rows: WaitingRows::Unmarked,
        });
        for (n, owner) in (1_u32..).zip(owners) {
            let at = NOW.plus(Millis::new(u64::from(n)));
            fail(&scene, n, owner, at).await;
        }
        let clock = Arc::new(SteppedClock::at(NOW.plus(Millis::from_seconds(1))));
        let mail_sender = MailSender::new(
            Arc::clone(&store) as _,
            Arc::clone(&store) as _,
            Arc::new(mail(&server.url(), None)),
            Arc::clone(&clock) as _,
            Addresses::default(),
        );
        Self {
            store,
            clock,
            mail_sender,
            _data: data,
        }
    }

    async fn turn_after(&self, wait: Millis) -> MailRound {
        self.clock.advance(wait);
        self.mail_sender.turn(self.clock.now()).await
    }

    async fn emails_left(&self) -> usize {
        let far = Timestamp::from_millis(i64::MAX);
        self.store.emails_due(far, 100).await.unwrap().len()
    }
}

async fn fail(scene: &Scene, n: u32, owner: &str, at: Timestamp) {
    let mut webhook: Webhook = builders::webhook(&scene.tenant, n);
    webhook.settings.owner_email = Some(owner.to_owned());
    let id = webhook.id;
    assert_eq!(scene.create_webhook(webhook).await, Ok(Created::Done));
    let row = scene.row_at(id, at).await;
    let cause = DeadCause::ExhaustedFailingWebhook;
    scene.attempt(row, Transition::Die { cause }, at).await;
}

#[tokio::test]
async fn a_rejected_email_is_dropped_after_five_tries_and_delays_no_other() {
    let refused = json!({"refused": ["gone@example.com"]});
    let mut server = SmtpServer::start(refused).await;
    let stage = Stage::with_emails_to(&["gone@example.com", "owner@example.com"], &server).await;
    assert_eq!(stage.turn_after(Millis::ZERO).await, MailRound::Done);
    assert_eq!(server.said().await, json!({"refused": "gone@example.com"}));
    assert_eq!(server.said().await["to"], json!(["owner@example.com"]));
    for minutes in [1, 4, 16, 64] {
        assert_eq!(stage.emails_left().await, 1, "before {minutes} minutes");
        let early = Millis::from_seconds(60 * minutes - 1);
        assert_eq!(stage.turn_after(early).await, MailRound::Done);
        assert_eq!(
            stage.turn_after(Millis::from_seconds(1)).await,
            MailRound::Done
        );
        assert_eq!(server.said().await, json!({"refused": "gone@example.com"}));
    }
    assert_eq!(stage.emails_left().await, 0);
}

#[tokio::test]
async fn a_postponed_email_does_not_delay_the_next_one() {
    let busy = json!({"busy": ["busy@example.com"]});
    let mut server = SmtpServer::start(busy).await;
    let stage = Stage::with_emails_to(&["busy@example.com", "owner@example.com"], &server).await;
    assert_eq!(stage.turn_after(Millis::ZERO).await, MailRound::Jammed);
    assert_eq!(server.said().await, json!({"refused": "busy@example.com"}));
    assert_eq!(stage.turn_after(Millis::ZERO).await, MailRound::Done);
    assert_eq!(server.said().await["to"], json!(["owner@example.com"]));
    assert_eq!(stage.emails_left().await, 1);
}

#[tokio::test]
async fn an_email_that_was_not_accepted_in_three_days_is_dropped() {
    let server = SmtpServer::plain().await;
    let stage = Stage::with_emails_to(&["owner@example.com"], &server).await;
    let three_days = Millis::from_seconds(3 * 86_400);
    assert_eq!(stage.turn_after(three_days).await, MailRound::Done);
    assert_eq!(stage.emails_left().await, 0);
}

fn email() -> Email {
    Email {
        id: "wh_1.failed.0".to_owned(),
        to: "owner@example.com".to_owned(),
        subject: "Grüße".to_owned(),
        text: "text\n.\nQUIT".to_owned(),
        html: "<p>html</p>".to_owned(),
    }
}

/// A certificate for `localhost` in files, as PEM.
fn certificate(folder: &std::path::Path) -> (Vec<u8>, Value) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("certificate"), folder.join("key"));
    let pem = made.cert.pem();
    std::fs::write(&certificate, &pem).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    (
        pem.into_bytes(),
        json!({"certificate": certificate, "key": key}),
    )
}

#[tokio::test]
async fn emails_are_sent_over_tls_to_trusted_servers_only() {
    let folder = tempfile::tempdir().unwrap();
    let (roots, files) = certificate(folder.path());
    for (tls, scheme) in [("starttls", "smtp"), ("wrapped", "smtps")] {
        let mut options = files.clone();
        options["tls"] = tls.into();
        options["login"] = json!(["ops@example.com", "p@ss"]);
        let mut server = SmtpServer::start(options).await;
        let url = |password| {
            format!(
                "{scheme}://ops%40example.com:{password}@localhost:{}",
                server.port
            )
        };
        let (right, wrong) = (url("p%40ss"), url("wrong"));
        let unknown = mail(&right, None).send(email()).await.unwrap_err();
        assert!(unknown.is_transient(), "{tls}: {unknown}");
        let refused = mail(&wrong, Some(&roots)).send(email()).await.unwrap_err();
        assert!(
            refused.is_transient(),
            "the settings are wrong, not the e-mail: {refused}"
        );
        mail(&right, Some(&roots)).send(email()).await.unwrap();
        let taken = server.said().await;
        assert_eq!(
            (&taken["tls"], &taken["user"]),
            (&json!(true), &json!("ops@example.com"))
        );
        assert_eq!(taken["headers"]["subject"], "Grüße");
        assert_eq!(
            taken["headers"]["message-id"],
            "<wh_1.failed.0@example.com>"
        );
    }
}

#[tokio::test]
async fn without_starttls_nothing_is_sent() {
    let server = SmtpServer::plain().await;
    let url = format!("smtp://127.0.0.1:{}", server.port);
    let refused = mail(&url, None).send(email()).await.unwrap_err();
    assert!(refused.is_transient(), "{refused}");
}
