//! Prints what a million deliveries and an idle month cost on AWS. Units are counted on DynamoDB Local, everything else is
//! price times the assumptions that are printed. `--write` also updates the documents that quote the figures. Run it with
//! `make costs`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    dead_code,
    unused_imports,
    reason = "a printed report, built from the test support code"
)]

#[path = "../../tests/dynamodb/costs/mod.rs"]
mod costs;
#[path = "../../tests/dynamodb/support/mod.rs"]
mod support;

use crate::costs::{Report, documents, quote};

#[tokio::main]
async fn main() {
    let quotes = Report::count().await.quotes();
    for name in ["table", "breakdown", "idle", "assumptions"] {
        println!("{}", quotes[name].trim());
        println!();
    }
    if std::env::args().any(|arg| arg == "--write") {
        for path in documents() {
            let document = std::fs::read_to_string(&path).unwrap();
            std::fs::write(&path, quote(&document, &quotes).0).unwrap();
        }
    }
}
