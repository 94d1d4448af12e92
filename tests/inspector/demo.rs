//! `postrider demo` in a real browser. The script starts the demo itself, because it also stops it.

use std::path::Path;

use tokio::process::Command;

use super::run;
use crate::command::binary;

#[tokio::test]
async fn the_demo_fills_every_page_and_leaves_nothing_behind() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("inspector/demo.mjs");
    let mut node = Command::new("node");
    node.arg(script).arg(binary()).kill_on_drop(true);
    run("demo", node).await;
}
