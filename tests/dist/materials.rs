//! The bill of materials.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

use super::stage::{EPOCH, TARGETS, repository, run};

fn bill() -> Value {
    let mut bill = Command::new("python3");
    bill.arg(repository().join("tools/dist/bill")).arg(EPOCH);
    let printed = run(bill.args(TARGETS.map(|(target, _)| target)));
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn the_bill_of_materials_lists_what_is_linked_and_nothing_else() {
    let bill = bill();
    assert_eq!(bill["bomFormat"], "CycloneDX");
    let components = bill["components"].as_array().unwrap();
    let names: BTreeSet<&str> = components
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    for linked in [
        "libsqlite3-sys",
        "rustls",
        "webpki-roots",
        "postrider-domain",
    ] {
        assert!(names.contains(linked), "{linked}");
    }
    for absent in [
        "aws-sdk-dynamodb",
        "lambda_runtime",
        "serde_derive",
        "proptest",
    ] {
        assert!(!names.contains(absent), "{absent}");
    }
    for component in components {
        let from_registry = !component["name"].as_str().unwrap().starts_with("postrider");
        assert_eq!(component["hashes"].is_array(), from_registry, "{component}");
        assert!(component["licenses"][0]["expression"].is_string());
    }
}

#[test]
fn every_dependency_in_the_bill_of_materials_is_a_component_of_it() {
    let bill = bill();
    let own = &bill["metadata"]["component"];
    let components = bill["components"].as_array().unwrap().iter().chain([own]);
    let known: BTreeSet<&str> = components
        .map(|it| it["bom-ref"].as_str().unwrap())
        .collect();
    let dependencies = bill["dependencies"].as_array().unwrap();
    assert_eq!(dependencies.len(), known.len());
    for dependency in dependencies {
        let needed = dependency["dependsOn"].as_array().unwrap().iter();
        for reference in needed.chain([&dependency["ref"]]) {
            assert!(known.contains(reference.as_str().unwrap()), "{reference}");
        }
    }
}
