//! Stored values that this version cannot read: each is logged, counted and left aside, so that it stops nothing else.

use metrics::{counter, describe_counter};

use super::fault::Fault;

/// Stored rows that could not be read and were left aside, by table.
const UNREADABLE: &str = "postrider_unreadable_rows_total";

/// Registers the help text of the store's metric.
pub fn describe_metrics() {
    describe_counter!(
        UNREADABLE,
        "Stored rows that could not be read and were left aside; table is deliveries, erasures, jobs, stats or webhooks"
    );
    // Shown as 0 until the first one, so that an alert on an increase sees it.
    for table in ["deliveries", "erasures", "jobs", "stats", "webhooks"] {
        counter!(UNREADABLE, "table" => table).increment(0);
    }
}

/// `None` for a value that cannot be read, which is logged and counted.
pub(super) fn readable<T>(
    table: &'static str,
    at: impl std::fmt::Display,
    value: Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(fault) if fault.is_unreadable() => {
            counter!(UNREADABLE, "table" => table).increment(1);
            tracing::error!(
                event = "store.row_unreadable",
                table,
                row = %at,
                reason = %fault,
                "a stored row cannot be read and is left aside"
            );
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}
