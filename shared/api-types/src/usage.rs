//! What a tenant used, per day.

use postrider_domain::invalid::Invalid;
use postrider_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::parameters;
use crate::schema;

parameters! {
    /// Which days to report.
    pub struct UsageParameters as "UsageParameters" {
        /// The first day, in UTC, such as `2026-02-21`; 29 days before `to` by default.
        from: schema::Day,
        /// The last day; today by default. At most 31 days in all.
        to: schema::Day,
    }
}

/// The start of a day.
///
/// # Errors
/// Adds one unless the text is a date.
pub fn day(field: &str, text: &str, faults: &mut Invalid) -> Option<Timestamp> {
    let is_short = text.len() == "2026-02-21".len();
    let start = Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
    let start = start.ok().filter(|_| is_short);
    faults.take(field, start.ok_or("must be a date such as 2026-02-21"))
}

/// A day as it is written.
#[must_use]
pub fn date(day: Timestamp) -> String {
    day.to_string().chars().take("2026-02-21".len()).collect()
}

/// Counters of a day, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Usage)]
pub struct UsageView {
    /// Published and received events that had at least one delivery.
    pub published: u64,
    /// Deliveries that arrived.
    pub delivered: u64,
    /// Requests to receivers.
    pub attempts: u64,
    /// Bytes of the payloads of published events.
    pub bytes: u64,
}

/// The counters of one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DayUsage)]
pub struct DayUsageView {
    /// The day, in UTC.
    #[schema(value_type = schema::Day)]
    pub day: String,
    #[serde(flatten)]
    pub usage: UsageView,
}

/// What a tenant used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TenantUsage)]
pub struct TenantUsageView {
    pub tenant: String,
    pub total: UsageView,
    /// Each day, oldest first.
    pub days: Vec<DayUsageView>,
}
