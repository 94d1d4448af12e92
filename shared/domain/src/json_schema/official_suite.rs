//! The cases of the JSON Schema Test Suite (`tests/json-schema`).

use std::fs;

use serde::Deserialize;
use serde_json::Value;

use super::*;

#[derive(Deserialize)]
struct Group {
    description: String,
    schema: Value,
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    description: String,
    data: Value,
    valid: bool,
}

/// What a schema may not have here.
const UNSUPPORTED: [&str; 3] = ["only to itself", "only at its root", "\\p{"];

#[test]
fn the_official_cases_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/json-schema");
    let (mut checked, mut unsupported, mut wrong) = (0, Vec::new(), Vec::new());
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "json") {
            continue;
        }
        let file = path.file_stem().unwrap().to_string_lossy().into_owned();
        let groups: Vec<Group> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        for group in groups {
            let name = format!("{file}: {}", group.description);
            let schema = match Schema::compile("schema", &group.schema) {
                Ok(schema) => schema,
                Err(why) if UNSUPPORTED.iter().any(|it| why.to_string().contains(it)) => {
                    unsupported.push(name);
                    continue;
                }
                Err(why) => panic!("{name}: {why}"),
            };
            for case in group.tests {
                checked += 1;
                let faults = schema.faults_of(&case.data);
                if faults.is_empty() != case.valid {
                    wrong.push(format!("{name}: {}: {faults:?}", case.description));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!((checked, unsupported.len()), (1168, 24), "{unsupported:#?}");
}
