//! Filter options of `deliveries` and `retry`.

use clap::Args;
use postrider_api_types::filter::FilterParameters;
use postrider_domain::delivery::Status;
use postrider_domain::time::Timestamp;

use crate::live::Change;
use crate::when::When;

/// All given conditions must match.
#[derive(Debug, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "Filter")]
pub(crate) struct FilterArgs {
    /// Session of the event
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Webhook it is sent to
    #[arg(long, value_name = "ID")]
    webhook: Option<String>,

    /// Event type
    #[arg(long, visible_alias = "type", value_name = "TYPE")]
    event_type: Option<String>,

    /// Accepted at or after this time: RFC 3339, or how long ago, such as 2h
    #[arg(long, visible_alias = "since", value_name = "TIME")]
    from: Option<When>,

    /// Accepted before this time
    #[arg(long, visible_alias = "until", value_name = "TIME")]
    pub(super) to: Option<When>,
}

impl FilterArgs {
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }

    /// The conditions as the API names them, with absolute times.
    pub(crate) fn parameters(&self, status: Option<Status>, now: Timestamp) -> FilterParameters {
        let time = |when: Option<When>| when.map(|when| when.resolve(now).to_string());
        FilterParameters {
            session_id: self.session.clone(),
            status: status.map(|status| status.to_string()),
            webhook_id: self.webhook.clone(),
            event_type: self.event_type.clone(),
            from: time(self.from),
            to: time(self.to),
        }
    }

    /// Whether a change matches, as far as its notification shows. A notification does not include when the delivery
    /// was accepted.
    pub(crate) fn wants(&self, change: &Change) -> bool {
        let fits = |wanted: &Option<String>, is: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| Some(wanted) == is)
        };
        fits(&self.session, change.session_id.as_deref())
            && fits(&self.webhook, Some(&change.webhook_id))
            && fits(&self.event_type, Some(&change.event_type))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_api_types::ApiTime;
    use postrider_domain::notification::NotificationKind;

    #[test]
    fn conditions_use_the_apis_names_and_absolute_times() {
        let filter = FilterArgs {
            session: Some("s".to_owned()),
            from: Some("2h".parse().unwrap()),
            ..FilterArgs::default()
        };
        let now = Timestamp::from_millis(1_771_668_000_000);
        let parameters = filter.parameters(Some(Status::Dead), now);
        let pairs: Vec<_> = parameters.pairs().collect();
        let expected = [
            ("session_id", "s"),
            ("status", "dead"),
            ("from", "2026-02-21T08:00:00.000Z"),
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn a_change_is_wanted_if_every_condition_matches() {
        let change = Change {
            kind: NotificationKind::DeliveryDead.into(),
            at: ApiTime(Timestamp::ZERO),
            id: "dlv_1".to_owned(),
            webhook_id: "wh_1".to_owned(),
            session_id: None,
            event_type: "a.b".to_owned(),
            status: Status::Dead.into(),
            attempt_count: 1,
            reason: None,
        };
        let filter = |webhook: Option<&str>, session: Option<&str>| FilterArgs {
            webhook: webhook.map(str::to_owned),
            session: session.map(str::to_owned),
            event_type: Some("a.b".to_owned()),
            ..FilterArgs::default()
        };
        assert!(filter(None, None).wants(&change));
        assert!(filter(Some("wh_1"), None).wants(&change));
        assert!(!filter(Some("wh_2"), None).wants(&change));
        assert!(!filter(Some("wh_1"), Some("s")).wants(&change));
    }
}
