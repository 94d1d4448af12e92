//! The limiter's rows of `make simulate`, without building the gateway.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use postrider_flow_model::cases;

fn main() {
    for row in cases::rows() {
        let found = (row.run)();
        println!("{}: {}", row.name, found.verdict().text());
        for line in found.details() {
            println!("  {line}");
        }
    }
}
