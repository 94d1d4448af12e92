//! Which deliveries, as options for `deliveries` and `retry`.

use clap::Args;
use postrider_domain::time::Timestamp;

use crate::when::When;

/// All given conditions must hold.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct FilterArgs {
    /// Of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// To this webhook
    #[arg(long, value_name = "ID")]
    webhook: Option<String>,

    /// Of this event type
    #[arg(long, value_name = "TYPE")]
    event_type: Option<String>,

    /// Accepted at or after: an RFC 3339 time, or a span back from now such as 2h
    #[arg(long, visible_alias = "since", value_name = "TIME")]
    from: Option<When>,

    /// Accepted before
    #[arg(long, value_name = "TIME")]
    to: Option<When>,
}

impl FilterArgs {
    /// Whether there is any condition.
    pub(crate) fn any(&self) -> bool {
        let Self {
            session,
            webhook,
            event_type,
            from,
            to,
        } = self;
        [session, webhook, event_type]
            .into_iter()
            .any(Option::is_some)
            || from.is_some()
            || to.is_some()
    }

    /// The conditions under the API's names.
    pub(crate) fn conditions(
        self,
        status: Option<String>,
        now: Timestamp,
    ) -> Vec<(&'static str, String)> {
        let time = |when: Option<When>| when.map(|when| when.resolve(now).to_string());
        let conditions = [
            ("session_id", self.session),
            ("status", status),
            ("webhook_id", self.webhook),
            ("event_type", self.event_type),
            ("from", time(self.from)),
            ("to", time(self.to)),
        ];
        conditions
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_carry_the_apis_names_and_absolute_times() {
        let filter = FilterArgs {
            session: Some("s".to_owned()),
            from: Some("2h".parse().unwrap()),
            ..FilterArgs::default()
        };
        let now = Timestamp::from_millis(1_771_668_000_000);
        let conditions = filter.conditions(Some("dead".to_owned()), now);
        let expected = [
            ("session_id", "s"),
            ("status", "dead"),
            ("from", "2026-02-21T08:00:00.000Z"),
        ];
        assert_eq!(
            conditions,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
    }
}
