//! The Inspector in a real browser, against a real gateway. Each case is a script that fills its own gateway and drives
//! Chromium.

mod demo;

use std::path::Path;

use tokio::process::Command;

use crate::command::{PATIENCE, Serve, TOKEN, binary};

const OPEN: (&str, &str) = ("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32");

/// Runs a case against a gateway with these settings.
async fn play(case: &str, settings: &[(&str, &str)], sweep: &str) {
    let gateway = Serve::start(&[&[OPEN], settings].concat()).await;
    let mut node = script(case, &gateway.url, TOKEN);
    node.arg(&gateway.login).env("SWEEP", sweep);
    run(case, node).await;
}

/// The script of a case, against a running gateway.
pub(crate) fn script(case: &str, url: &str, token: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("inspector/run.mjs");
    let mut node = Command::new("node");
    node.arg(script)
        .args([case, url, token])
        .env("POSTRIDER", binary())
        .kill_on_drop(true);
    node
}

/// Runs a script, which must succeed. Each of its steps has its own, shorter timeout.
pub(crate) async fn run(case: &str, mut node: Command) {
    let ran = tokio::time::timeout(PATIENCE * 15, node.output()).await;
    let ran = ran.unwrap_or_else(|_| panic!("{case} does not end"));
    let ran = ran.expect("node starts");
    let output = [ran.stdout, ran.stderr].concat();
    let output = String::from_utf8_lossy(&output);
    assert!(ran.status.success(), "{case}: {output}");
}

#[tokio::test]
async fn a_user_logs_in_with_a_key_or_a_one_time_link_and_logs_out() {
    play("login", &[], "").await;
}

#[tokio::test]
async fn deliveries_are_found_with_filters_and_paging() {
    play("lists", &[], "").await;
}

#[tokio::test]
async fn a_delivery_says_why_it_failed_and_keeps_its_history_when_retried() {
    play("delivery", &[], "").await;
}

#[tokio::test]
async fn a_shadow_request_leaves_the_delivery_unchanged() {
    play("shadow", &[], "").await;
}

#[tokio::test]
async fn dead_letters_are_counted_and_retried_and_the_page_updates() {
    play(
        "dead_letters",
        &[("POSTRIDER_POLL_INTERVAL_MS", "500")],
        "quick",
    )
    .await;
}

#[tokio::test]
async fn a_bulk_retry_is_canceled_half_way() {
    play(
        "dead_letters",
        &[("POSTRIDER_POLL_INTERVAL_MS", "60000")],
        "slow",
    )
    .await;
}

#[tokio::test]
async fn webhooks_keys_and_sources_are_managed() {
    play("managing", &[], "").await;
}

#[tokio::test]
async fn a_filter_is_tried_on_the_last_events_before_it_is_saved() {
    play("filters", &[], "").await;
}

#[tokio::test]
async fn a_filter_is_built_by_form() {
    play("filter_form", &[], "").await;
}

#[tokio::test]
async fn an_event_is_erased() {
    play("erasing", &[], "").await;
}

#[tokio::test]
async fn a_template_is_tried_on_the_last_event_before_it_is_saved() {
    play("templates", &[], "").await;
}

#[tokio::test]
async fn sources_are_created_and_diagnose_rejected_requests() {
    play("sources", &[], "").await;
}

#[tokio::test]
async fn error_pages_explain_the_error_and_link_elsewhere() {
    play("errors", &[], "").await;
}

#[tokio::test]
async fn a_page_left_open_for_a_day_neither_leaks_nor_stalls() {
    play("long_open", &[], "").await;
}

#[tokio::test]
async fn a_read_only_key_changes_nothing() {
    play("read_only", &[], "").await;
}

#[tokio::test]
async fn changes_appear_live_and_an_open_page_does_not_grow() {
    play("live", &[], "").await;
}

#[tokio::test]
async fn stored_markup_stays_text() {
    play("hostile", &[], "").await;
}

#[tokio::test]
async fn every_page_is_accessible() {
    play("accessibility", &[], "").await;
}

#[tokio::test]
async fn a_customer_goes_from_a_link_to_a_fixed_delivery() {
    let brand = [
        ("POSTRIDER_PORTAL_NAME", "Acme & Sons"),
        ("POSTRIDER_PORTAL_COLOR", "#ffcc00"),
    ];
    play("portal", &brand, "").await;
}

#[tokio::test]
async fn event_types_are_described_seen_and_tried_out() {
    let settings = [
        ("POSTRIDER_EVENT_VALIDATION", "warn"),
        ("POSTRIDER_PUBLIC_CATALOGUE", "true"),
        ("POSTRIDER_PORTAL_NAME", "Acme & Sons"),
        ("POSTRIDER_PORTAL_COLOR", "#ffcc00"),
    ];
    play("event_types", &settings, "").await;
}

#[tokio::test]
async fn the_portal_works_in_a_frame_of_a_site_that_may_embed_it() {
    play("portal_embedded", &[], "").await;
}

#[tokio::test]
async fn the_keyboard_is_enough_and_the_first_page_is_small() {
    play("keyboard", &[], "").await;
}
