//! The conditions of a list of deliveries.

use std::fmt::Display;
use std::str::FromStr;

use postrider_domain::invalid::Invalid;
use postrider_domain::time::Timestamp;
use postrider_ports::history::Filter;

use crate::{ApiTime, parameters, schema};

parameters! {
    /// Selects deliveries; all given conditions must hold.
    pub struct FilterParameters as "Filter" {
        /// Deliveries of this session.
        session_id: schema::Label,
        /// Deliveries in this status.
        status: schema::DeliveryStatus,
        /// Deliveries to this webhook.
        webhook_id: schema::WebhookId,
        /// Deliveries of events of this type.
        event_type: schema::EventType,
        /// Deliveries accepted at or after this RFC 3339 time.
        from: ApiTime,
        /// Deliveries accepted before this RFC 3339 time.
        to: ApiTime,
    }
}

impl FilterParameters {
    /// Checks every condition; errors are named below `path`, which ends with a dot unless it is empty.
    pub fn check(&self, path: &str, faults: &mut Invalid) -> Filter {
        Filter {
            session_id: read(faults, path, "session_id", self.session_id.as_deref()),
            status: read(faults, path, "status", self.status.as_deref()),
            webhook_id: read(faults, path, "webhook_id", self.webhook_id.as_deref()),
            event_type: read(faults, path, "event_type", self.event_type.as_deref()),
            from: instant(faults, path, "from", self.from.as_deref()),
            to: instant(faults, path, "to", self.to.as_deref()),
        }
    }
}

fn read<T>(faults: &mut Invalid, path: &str, name: &str, text: Option<&str>) -> Option<T>
where
    T: FromStr<Err: Display>,
{
    text.and_then(|text| faults.take(&format!("{path}{name}"), text.parse()))
}

fn instant(faults: &mut Invalid, path: &str, name: &str, text: Option<&str>) -> Option<Timestamp> {
    text.and_then(|text| faults.take(&format!("{path}{name}"), Timestamp::parse_rfc3339(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::Parameters;
    use serde_json::{Map, Value};

    #[test]
    fn every_condition_is_read_written_and_checked_under_its_name() {
        let names = FilterParameters::names();
        let mut every = FilterParameters::default();
        for name in &names {
            *every.place(name).unwrap() = Some("\u{0}".to_owned());
        }
        let written: Vec<_> = every.pairs().map(|(name, _)| name).collect();
        assert_eq!(written, names);
        let object: Map<String, Value> =
            serde_json::from_value(serde_json::to_value(&every).unwrap()).unwrap();
        assert!(object.keys().all(|key| names.contains(&key.as_str())));
        let mut faults = Invalid::default();
        assert_eq!(every.check("filter.", &mut faults), Filter::default());
        let faults = faults.into_fields();
        let faulty: Vec<_> = faults.iter().map(|fault| fault.field.as_str()).collect();
        let expected: Vec<_> = names.iter().map(|name| format!("filter.{name}")).collect();
        assert_eq!(faulty, expected);
    }
}
