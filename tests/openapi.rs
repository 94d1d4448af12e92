//! The API and its OpenAPI document; `make schema` checks the same with more inputs.

use postrider_tests::schema::{Inputs, Stage};

use crate::command::PATIENCE;

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
}
