//! The documents quote figures of the cost report.

use std::fs;

use crate::costs::{Report, documents, quote};

/// If it fails, run `make costs ARGS=--write`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documents_quote_what_the_bill_says() {
    let quotes = Report::count().await.quotes();
    let mut quoted = Vec::new();
    for path in documents() {
        let document = fs::read_to_string(&path).unwrap();
        let (current, names) = quote(&document, &quotes);
        assert_eq!(document, current, "{}", path.display());
        quoted.extend(names);
    }
    for name in quotes.keys() {
        assert!(
            quoted.iter().any(|it| it == name),
            "no document quotes {name}"
        );
    }
}
