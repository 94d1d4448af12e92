//! Scenarios and tests have the same names.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn here(folder: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

fn texts(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(here(folder)).unwrap();
    entries
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect()
}

/// `FR-001 AC1 jitter …` becomes `fr_001_ac1_jitter_…`.
fn test_name(scenario: &str) -> String {
    let words = scenario
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join("_")
}

fn tests_in(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let marked = lines.windows(2).filter(|pair| pair[0] == "#[tokio::test]");
    let name = |line: &str| {
        Some(
            line.strip_prefix("async fn ")?
                .split_once('(')?
                .0
                .to_owned(),
        )
    };
    marked.filter_map(|pair| name(pair[1])).collect()
}

#[test]
fn every_scenario_has_a_test_and_every_test_a_scenario() {
    let features = texts("features");
    let scenarios: Vec<String> = features
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.trim().strip_prefix("Scenario: "))
        .map(test_name)
        .collect();
    let tests: BTreeSet<String> = texts("scenarios")
        .iter()
        .flat_map(|text| tests_in(text))
        .collect();
    let unique: BTreeSet<String> = scenarios.iter().cloned().collect();
    assert_eq!(unique.len(), scenarios.len(), "two scenarios have one name");
    assert!(scenarios.len() > 30, "the features were read");
    let untested: Vec<_> = unique.difference(&tests).collect();
    let unwritten: Vec<_> = tests.difference(&unique).collect();
    assert!(
        untested.is_empty(),
        "scenarios without a test: {untested:#?}"
    );
    assert!(
        unwritten.is_empty(),
        "tests without a scenario: {unwritten:#?}"
    );
}
