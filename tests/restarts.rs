//! The process is killed or stopped, and starts again.

use postrider_testkit::receiver::Receiver;
use postrider_tests::chaos;
#[cfg(target_os = "linux")]
use postrider_tests::chaos::mixed::{self, Bug, Plan};
use serde_json::json;

use crate::command::{self, Serve};

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

#[tokio::test]
async fn chaos_nothing_acknowledged_is_lost_when_the_process_is_killed_under_load() {
    let report = chaos::run(12).await;
    println!("{report:?}");
    assert!(report.acknowledged > 100, "there was load: {report:?}");
    assert_eq!(report.lost, 0, "{report:?}");
    assert_eq!(report.unexplained, 0, "{report:?}");
}

/// Webhooks that fail, keys, inbound events, operators, e-mail, backups, retention; a disk that fails, a clock that jumps, a
/// process that stands still. Each of these bugs would be found: the audit is repeated on what they would have left.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn chaos_a_gateway_that_does_everything_keeps_its_promises_through_kills_and_faults() {
    let plan = Plan { kills: 8, seed: 17 };
    let report = mixed::run(plan).await;
    println!("{}", report.in_words());
    assert_eq!(report.broken, Vec::<String>::new());
    let happened = [
        report.acknowledged > 300,
        report.requests > report.acknowledged,
        report.in_flight > 0,
        report.died > 0,
        report.emails > 0,
        report.rejected > 0,
        report.backups > 0,
    ];
    assert!(happened.iter().all(|it| *it), "{}", report.in_words());
    for bug in Bug::ALL {
        let found = report.seen.clone().with(bug).audit();
        assert!(!found.is_empty(), "{bug:?} is not found");
    }
}

#[tokio::test]
async fn a_terminated_gateway_finishes_attempts_in_flight() {
    let receiver = Receiver::start().await;
    let data = tempfile::tempdir().unwrap();
    let mut gateway = Serve::start_in(data.path(), &[OPEN]).await;
    let webhook = gateway
        .webhook(&receiver.url(), &json!({"profile": "gateway"}))
        .await;
    receiver.hold();
    let delivery = gateway.publish(&webhook, "{}").await;
    receiver.received(1).await;
    let address = gateway.url.trim_start_matches("http://").to_owned();
    let (ended, ()) = tokio::join!(gateway.terminate(), async {
        // After the signal, the gateway accepts no more connections.
        while tokio::net::TcpStream::connect(&address).await.is_ok() {
            tokio::task::yield_now().await;
        }
        receiver.open();
    });
    assert!(ended, "it exits with success");
    let again = Serve::start_in(data.path(), &[OPEN]).await;
    let row = again.settled(&delivery).await;
    assert_eq!(
        (&row["status"], &row["attempt_count"]),
        (&json!("delivered"), &json!(1))
    );
    assert_eq!(receiver.requests().len(), 1, "it was not sent again");
}

#[tokio::test]
async fn a_second_gateway_on_one_directory_refuses_to_start() {
    let data = tempfile::tempdir().unwrap();
    let _first = Serve::start_in(data.path(), &[]).await;
    let second = tokio::process::Command::new(command::binary())
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data.path())
        .output()
        .await
        .unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("another"), "{said}");
}

#[tokio::test]
async fn a_public_address_without_a_key_prevents_the_start() {
    let data = tempfile::tempdir().unwrap();
    let refused = tokio::process::Command::new(command::binary())
        .args(["serve", "--listen", "0.0.0.0:0", "--data"])
        .arg(data.path())
        .env_remove("POSTRIDER_ADMIN_TOKEN")
        .output()
        .await
        .unwrap();
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("POSTRIDER_ADMIN_TOKEN"), "{said}");
}

#[tokio::test]
async fn a_revoked_key_does_not_come_back_after_a_restart() {
    let data = tempfile::tempdir().unwrap();
    let kept = || std::fs::read_to_string(data.path().join("admin-token")).unwrap();
    let unset = ("POSTRIDER_ADMIN_TOKEN", "");
    let keys = async |gateway: &Serve, token: &str| {
        let call = reqwest::Client::new().get(format!("{}/v1/keys", gateway.url));
        call.bearer_auth(token.trim()).send().await.unwrap()
    };
    let mut gateway = Serve::start_in(data.path(), &[unset]).await;
    let leaked = kept();
    let listed: serde_json::Value = keys(&gateway, &leaked).await.json().await.unwrap();
    let id = listed["items"][0]["id"].as_str().unwrap();
    let revoke = reqwest::Client::new().delete(format!("{}/v1/keys/{id}", gateway.url));
    let revoked = revoke.bearer_auth(leaked.trim()).send().await.unwrap();
    assert_eq!(revoked.status().as_u16(), 204);
    assert!(gateway.terminate().await);
    let again = Serve::start_in(data.path(), &[unset]).await;
    let next = kept();
    let statuses = [&leaked, &next].map(async |token| keys(&again, token).await.status().as_u16());
    let [old, new] = statuses;
    assert_eq!((old.await, new.await), (401, 200));
}

#[tokio::test]
async fn a_revoked_key_of_the_environment_stays_revoked() {
    let data = tempfile::tempdir().unwrap();
    let (first, second) = (
        "first-token-of-at-least-32-characters",
        "second-token-of-at-least-32-characters",
    );
    let start =
        async |token| Serve::start_in(data.path(), &[("POSTRIDER_ADMIN_TOKEN", token)]).await;
    let keys = async |gateway: &Serve, token: &str| {
        let call = reqwest::Client::new().get(format!("{}/v1/keys", gateway.url));
        call.bearer_auth(token).send().await.unwrap()
    };
    let mut gateway = start(first).await;
    let listed: serde_json::Value = keys(&gateway, first).await.json().await.unwrap();
    let id = listed["items"][0]["id"].as_str().unwrap();
    let revoke = reqwest::Client::new().delete(format!("{}/v1/keys/{id}", gateway.url));
    let revoked = revoke.bearer_auth(first).send().await.unwrap();
    assert_eq!(revoked.status().as_u16(), 204);
    assert!(gateway.terminate().await);
    let mut gateway = start(first).await;
    assert_eq!(keys(&gateway, first).await.status().as_u16(), 401);
    assert!(gateway.terminate().await);
    let mut gateway = start(second).await;
    assert_eq!(keys(&gateway, second).await.status().as_u16(), 200);
    assert!(gateway.terminate().await);
    let gateway = start(first).await;
    assert_eq!(
        keys(&gateway, first).await.status().as_u16(),
        401,
        "it does not come back"
    );
    assert_eq!(keys(&gateway, second).await.status().as_u16(), 200);
}
