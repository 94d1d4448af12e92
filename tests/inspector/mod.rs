//! The Inspector in a real browser, against a real gateway. Each case is a script that fills a gateway of its own and
//! drives Chromium through it.

use std::path::Path;

use tokio::process::Command;

use crate::command::{PATIENCE, Serve, TOKEN, binary};

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

/// Plays a case against a gateway with these settings.
async fn play(case: &str, settings: &[(&str, &str)], sweep: &str) {
    let gateway = Serve::start(&[&[OPEN], settings].concat()).await;
    let mut node = script(case, &gateway.url, TOKEN);
    node.arg(&gateway.login).env("SWEEP", sweep);
    run(case, node).await;
}

/// The script of a case, against a gateway that runs.
pub(crate) fn script(case: &str, url: &str, token: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("inspector/run.mjs");
    let mut node = Command::new("node");
    node.arg(script)
        .args([case, url, token])
        .env("POSTRIDER", binary())
        .kill_on_drop(true);
    node
}

/// Runs a script to its end, which must be a good one.
pub(crate) async fn run(case: &str, mut node: Command) {
    let ran = tokio::time::timeout(PATIENCE * 4, node.output()).await;
    let ran = ran.expect("the case ends").expect("node starts");
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(ran.status.success(), "{case}: {said}");
}

#[tokio::test]
async fn one_comes_in_with_a_key_or_the_link_and_goes_out_again() {
    play("entering", &[], "").await;
}

#[tokio::test]
async fn deliveries_are_found_by_their_conditions_and_page_by_page() {
    play("finding", &[], "").await;
}

#[tokio::test]
async fn a_delivery_says_why_it_failed_and_is_retried_with_its_history() {
    play("explaining", &[], "").await;
}

#[tokio::test]
async fn a_delivery_is_sent_to_another_url_and_stays_as_it_was() {
    play("shadowing", &[], "").await;
}

#[tokio::test]
async fn dead_letters_are_counted_and_retried_and_the_page_follows() {
    play("mending", &[("POSTRIDER_POLL_INTERVAL_MS", "500")], "quick").await;
}

#[tokio::test]
async fn a_bulk_retry_is_stopped_half_way() {
    play(
        "mending",
        &[("POSTRIDER_POLL_INTERVAL_MS", "60000")],
        "slow",
    )
    .await;
}

#[tokio::test]
async fn webhooks_keys_and_sources_are_kept() {
    play("keeping", &[], "").await;
}

#[tokio::test]
async fn sources_are_made_and_say_what_was_refused_and_why() {
    play("receiving", &[], "").await;
}

#[tokio::test]
async fn what_goes_wrong_says_so_and_shows_a_way_on() {
    play("failing", &[], "").await;
}

#[tokio::test]
async fn a_page_left_open_for_a_day_neither_leaks_nor_stalls() {
    play("staying", &[], "").await;
}

#[tokio::test]
async fn a_key_that_may_only_look_changes_nothing() {
    play("looking", &[], "").await;
}

#[tokio::test]
async fn what_happens_appears_by_itself_and_an_open_page_does_not_grow() {
    play("living", &[], "").await;
}

#[tokio::test]
async fn stored_markup_stays_text() {
    play("hostile", &[], "").await;
}

#[tokio::test]
async fn every_page_is_for_everyone() {
    play("everyone", &[], "").await;
}

#[tokio::test]
async fn the_keyboard_does_it_all_and_the_first_page_is_small() {
    play("typing", &[], "").await;
}
