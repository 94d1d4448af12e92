//! The sent log, shared by functions that may receive the same message more than once.

use postrider_domain::alert::{Alert, AlertCause, WARNINGS_APART};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::mail_outbox::SentLog;
use postrider_testkit::builders::{NOW, after, webhook_id};

use crate::support::fixture;

fn alert(id: &str, cause: AlertCause, generation: u32, at: Timestamp) -> Alert {
    Alert {
        id: id.to_owned(),
        tenant: "default".parse().unwrap(),
        webhook: webhook_id(1),
        cause,
        generation,
        at,
        reason: None,
        last_failure: None,
    }
}

fn failed(id: &str, generation: u32) -> Alert {
    alert(id, AlertCause::Failed { retries: Some(5) }, generation, NOW)
}

fn warning(id: &str, at: Timestamp) -> Alert {
    alert(id, AlertCause::Degraded { failures: 3 }, 0, at)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sent_email_is_not_sent_again() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let one = failed("one", 1);
    assert_eq!(store.claim_email(&one, "message", NOW).await, Ok(true));
    store.record_sent(&one).await.unwrap();
    for (by, at) in [("message", NOW), ("other", after(100_000))] {
        assert_eq!(store.claim_email(&one, by, at).await, Ok(false), "{by}");
    }
    // The same episode, reported once more.
    let same = failed("same", 1);
    assert_eq!(store.claim_email(&same, "message", NOW).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_whose_clock_is_behind_does_not_take_over_a_claim() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let one = failed("one", 1);
    assert_eq!(store.claim_email(&one, "ahead", after(1)).await, Ok(true));
    assert_eq!(store.claim_email(&one, "behind", NOW).await, Ok(false));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_concurrent_senders_one_sends() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let one = failed("one", 1);
    let mut taken = 0;
    let mut takers = tokio::task::JoinSet::new();
    for n in 0..8 {
        let (store, one) = (std::sync::Arc::clone(store), one.clone());
        takers.spawn(async move { store.claim_email(&one, &n.to_string(), NOW).await });
    }
    while let Some(result) = takers.join_next().await {
        taken += u32::from(result.unwrap().unwrap());
    }
    assert_eq!(taken, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_email_that_could_not_be_sent_can_be_claimed_again() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let one = failed("one", 1);
    assert_eq!(store.claim_email(&one, "message", NOW).await, Ok(true));
    let again = store.claim_email(&one, "message", after(1)).await;
    assert_eq!(again, Ok(true), "the queue delivers the same message again");
    assert_eq!(store.claim_email(&one, "other", after(2)).await, Ok(false));
    let later = store.claim_email(&one, "other", after(1 + 901)).await;
    assert_eq!(later, Ok(true), "the earlier claim has expired");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_episode_is_reported_and_warnings_are_an_hour_apart() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let hour = NOW.plus(WARNINGS_APART);
    for (alert, expected) in [
        (failed("f1", 1), true),
        (failed("f2", 2), true),
        (failed("f1 arrived late", 1), false),
        (warning("w1", NOW), true),
        (warning("w2", hour.minus(Millis::new(1))), false),
        (warning("w3", hour), true),
    ] {
        let taken = store.claim_email(&alert, "message", NOW).await;
        assert_eq!(taken, Ok(expected), "{}", alert.id);
        if expected {
            store.record_sent(&alert).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_ran_ahead_stops_no_email() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let tomorrow = after(86_400);
    let ahead = warning("ahead", tomorrow);
    assert_eq!(store.claim_email(&ahead, "one", tomorrow).await, Ok(true));
    let now = warning("now", NOW);
    assert_eq!(store.claim_email(&now, "one", NOW).await, Ok(true));
    // Claimed by a function whose clock ran ahead, and which then died.
    let dropped = failed("dropped", 1);
    assert_eq!(store.claim_email(&dropped, "one", tomorrow).await, Ok(true));
    assert_eq!(store.claim_email(&dropped, "two", NOW).await, Ok(true));
    assert_eq!(store.claim_email(&dropped, "three", NOW).await, Ok(false));
}
