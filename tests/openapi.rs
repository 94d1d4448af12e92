//! The API and its OpenAPI document; `make schema` checks the same with more inputs.

use postrider_tests::schema::{Inputs, Stage};

use crate::command::PATIENCE;

/// Fewer would mean that operations are left out.
const LEAST_CASES: u32 = 1000;

#[tokio::test]
async fn the_api_does_what_its_openapi_document_says() {
    let stage = Stage::start().await;
    let mut schemathesis = stage.schemathesis(5, Inputs::Fixed);
    let ran = tokio::time::timeout(PATIENCE * 4, schemathesis.output()).await;
    let ran = ran.expect("the run ends");
    let ran = ran.expect("schemathesis starts; `make setup` installs it");
    let report = [ran.stdout, ran.stderr].concat();
    let report = String::from_utf8_lossy(&report);
    assert!(ran.status.success(), "{report}");
    let cases = cases(&report).expect("the report counts the cases");
    println!("{cases} cases");
    assert!(cases >= LEAST_CASES, "{report}");
}

/// The number in `1234 generated, 1234 passed`.
fn cases(report: &str) -> Option<u32> {
    let line = report.lines().find(|line| line.contains(" generated"))?;
    line.trim().split(' ').next()?.parse().ok()
}
