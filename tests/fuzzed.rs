//! The fuzz targets of `fuzz/`, with a few thousand inputs in every run.

use std::path::Path;

use data_encoding::BASE64;
use postrider_tests::hostile::{self, Outcome};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// What a fuzz target runs.
type Attempt = fn(&[u8]) -> Outcome;

/// Tries this many inputs; returns how many were accepted and how many rejected. Tests demand at least eight standard deviations
/// less than the mean, so that no seed fails them.
fn try_all(cases: u32, inputs: impl Strategy<Value = Vec<u8>>, attempt: Attempt) -> (u32, u32) {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let counts = std::cell::Cell::new((0, 0));
    let tried = TestRunner::new(config).run(&inputs, |input| {
        let (accepted, refused) = counts.get();
        match attempt(&input) {
            Outcome::Accepted => counts.set((accepted + 1, refused)),
            Outcome::Rejected => counts.set((accepted, refused + 1)),
            Outcome::Nothing => {}
        }
        Ok(())
    });
    tried.unwrap();
    let (accepted, refused) = counts.get();
    println!("{accepted} of {cases} accepted, {refused} rejected");
    (accepted, refused)
}

/// What libFuzzer found in longer runs: inputs that reach more than random ones.
#[test]
fn no_seed_of_a_fuzz_target_breaks_a_guarantee() {
    let targets: [(&str, Attempt); 10] = [
        ("api_calls", hostile::try_api_calls),
        ("custom", hostile::try_custom),
        ("diagnoses", hostile::try_diagnosis),
        ("filters", hostile::try_filter),
        ("gateway_events", hostile::try_gateway_event),
        ("records", hostile::try_records),
        ("requests", hostile::try_request),
        ("schemas", hostile::try_schema),
        ("templates", hostile::try_template),
        ("texts", hostile::try_text),
    ];
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    for (target, attempt) in targets {
        let lines = std::fs::read_to_string(seeds.join(target).with_extension("txt")).unwrap();
        for line in lines.lines() {
            attempt(&BASE64.decode(line.as_bytes()).unwrap());
        }
        assert!(lines.lines().count() >= 30, "{target}");
    }
    assert_eq!(std::fs::read_dir(seeds).unwrap().count(), targets.len());
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..400)
}

/// Texts with the special characters of what is decoded.
fn texts() -> impl Strategy<Value = Vec<u8>> {
    let marked = r#"(wh_|src_|evt_|dlv_|whsec_|whpk_|v1,|sha256=|default|2026-02-2)?[a-z2-7A-Z0-9.:=+/_*{}"T Z-]{0,60}"#;
    prop_oneof![marked.prop_map(String::into_bytes), bytes()]
}

#[test]
fn no_unsigned_request_is_accepted() {
    let (accepted, refused) = try_all(6000, bytes(), hostile::try_request);
    assert!(accepted > 150 && refused > 1500, "{accepted}, {refused}");
}

#[test]
fn the_diagnosis_of_a_rejected_request_reveals_no_secret() {
    let (accepted, refused) = try_all(1000, bytes(), hostile::try_diagnosis);
    assert!(accepted > 25 && refused > 250, "{accepted}, {refused}");
}

#[test]
fn a_custom_scheme_accepts_no_forged_request() {
    let (accepted, refused) = try_all(10_000, bytes(), hostile::try_custom);
    assert!(accepted > 10 && refused > 1000, "{accepted}, {refused}");
}

#[test]
fn a_filter_says_why_it_does_not_match() {
    let (accepted, refused) = try_all(10_000, bytes(), hostile::try_filter);
    assert!(accepted > 100 && refused > 1000, "{accepted}, {refused}");
}

#[test]
fn a_schema_finds_its_faults_in_the_payload() {
    let (accepted, refused) = try_all(10_000, bytes(), hostile::try_schema);
    assert!(accepted > 500 && refused > 500, "{accepted}, {refused}");
}

#[test]
fn a_template_keeps_to_its_limits() {
    let (accepted, refused) = try_all(4000, bytes(), hostile::try_template);
    assert!(accepted > 50 && refused > 500, "{accepted}, {refused}");
}

#[test]
fn every_decoded_value_has_one_spelling() {
    let (accepted, refused) = try_all(10_000, texts(), hostile::try_text);
    assert!(accepted > 1000 && refused > 50, "{accepted}, {refused}");
}

#[test]
fn no_event_of_api_gateway_makes_the_receiver_fail() {
    let (accepted, refused) = try_all(2000, bytes(), hostile::try_gateway_event);
    assert_eq!(accepted, 0);
    assert!(refused > 200, "{refused}");
}

#[test]
fn no_call_breaks_the_api_or_a_page() {
    let (accepted, refused) = try_all(2000, bytes(), hostile::try_api_calls);
    assert!(accepted > 100 && refused > 300, "{accepted}, {refused}");
}

#[test]
fn no_record_is_lost_by_a_function() {
    let (accepted, refused) = try_all(2000, bytes(), hostile::try_records);
    assert!(accepted > 250 && refused > 250, "{accepted}, {refused}");
}
