//! The names of the restored tables: the same command finds the tables that it has made before.

use postrider_domain::time::Timestamp;

use super::super::stack::Stack;
use crate::failure::Failure;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Restored {
    pub(super) deliveries: Table,
    pub(super) configs: Table,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) source: String,
    pub(super) target: String,
}

impl Restored {
    pub(super) fn new(stack: &Stack, at: Timestamp) -> Result<Self, Failure> {
        let table = |output: &str, resource: &str, what: &str| {
            let target = format!("{}-{what}-{}", stack.name, compact(at));
            let mut source = stack.output(output)?;
            // The stack already uses the restored table. The one before it is the stack's own, unless that was restored
            // as well.
            if source == target {
                source = &stack.resource(resource)?.physical;
            }
            Ok::<_, Failure>(Table {
                source: source.to_owned(),
                target,
            })
        };
        Ok(Self {
            deliveries: table("DeliveriesTable", "WebhookDeliveries", "deliveries")?,
            configs: table("ConfigsTable", "WebhookConfigs", "configs")?,
        })
    }

    pub(super) fn both(&self) -> [&Table; 2] {
        [&self.deliveries, &self.configs]
    }
}

/// `20261117T025500Z`.
fn compact(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    seconds.replace(['-', ':'], "") + "Z"
}

#[cfg(test)]
mod tests {
    use super::super::super::stack::tests::sample;
    use super::*;

    #[test]
    fn the_same_time_gives_the_same_names() {
        let at = Timestamp::parse_rfc3339("2026-11-17T02:55:00Z").unwrap();
        let restored = Restored::new(&sample(&[]), at).unwrap();
        assert_eq!(restored.deliveries.source, "postrider-WebhookDeliveries-1");
        assert_eq!(
            restored.deliveries.target,
            "postrider-deliveries-20261117T025500Z"
        );
        assert_eq!(
            restored.configs.target,
            "postrider-configs-20261117T025500Z"
        );
    }
}
