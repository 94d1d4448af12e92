//! Everything under `examples/`, run against a real gateway.

use std::path::Path;

use crate::command;

#[tokio::test]
async fn every_example_does_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let gateway = command::binary();
    let receiver = gateway.with_file_name("examples").join("receive");
    let run = tokio::process::Command::new(root.join("tools/examples"))
        .arg("--gateway")
        .arg(&gateway)
        .arg("--receiver")
        .arg(&receiver)
        .output()
        .await
        .unwrap();
    let said =
        String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
}
