//! Which deliveries are meant, as a caller writes it.

use std::fmt::Display;
use std::str::FromStr;

use postrider_domain::invalid::Invalid;
use postrider_domain::time::Timestamp;
use postrider_ports::history::Filter;
use serde::Deserialize;

/// Which deliveries; all given conditions must hold.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Filter)]
pub(crate) struct FilterInput {
    /// Of this session.
    #[serde(default)]
    pub(crate) session_id: Option<String>,
    /// In this status.
    #[serde(default)]
    #[schema(schema_with = crate::deliveries::statuses)]
    pub(crate) status: Option<String>,
    /// To this webhook.
    #[serde(default)]
    pub(crate) webhook_id: Option<String>,
    /// Of this type.
    #[serde(default)]
    pub(crate) event_type: Option<String>,
    /// Accepted at or after this RFC 3339 time.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub(crate) from: Option<String>,
    /// Accepted before this RFC 3339 time.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub(crate) to: Option<String>,
}

impl FilterInput {
    /// Checks every condition; `within` is the path of the filter, with its dot.
    pub(crate) fn check(&self, within: &str, faults: &mut Invalid) -> Filter {
        Filter {
            session_id: read(faults, within, "session_id", self.session_id.as_deref()),
            status: read(faults, within, "status", self.status.as_deref()),
            webhook_id: read(faults, within, "webhook_id", self.webhook_id.as_deref()),
            event_type: read(faults, within, "event_type", self.event_type.as_deref()),
            from: time(faults, within, "from", self.from.as_deref()),
            to: time(faults, within, "to", self.to.as_deref()),
        }
    }
}

fn read<T>(faults: &mut Invalid, within: &str, name: &str, text: Option<&str>) -> Option<T>
where
    T: FromStr<Err: Display>,
{
    text.and_then(|text| faults.take(&format!("{within}{name}"), text.parse()))
}

fn time(faults: &mut Invalid, within: &str, name: &str, text: Option<&str>) -> Option<Timestamp> {
    text.and_then(|text| faults.take(&format!("{within}{name}"), Timestamp::parse_rfc3339(text)))
}
