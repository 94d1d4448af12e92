//! One change as a line of text or JSON.

use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::{ApiTime, Word};
use postrider_domain::delivery::Status;
use serde::Serialize;

use crate::live::Change;
use crate::output::{Output, Tone, printable_line};
use crate::views::{WebhookNames, delivery_mark};
use crate::when::short_time;

const ERROR_CHARS: usize = 160;
const REQUEUED: &str = "requeued";

#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    /// `listed` for deliveries that existed at the start, or that changed during a gap.
    change: &'a str,
    at: ApiTime,
    id: &'a str,
    event_type: &'a str,
    webhook_id: &'a str,
    session_id: Option<&'a str>,
    status: &'a Word<Status>,
    attempt_count: u32,
    error: Option<&'a str>,
}

/// Changes are missing here.
#[derive(Debug, Serialize)]
pub(super) struct Gap {
    change: &'static str,
    at: ApiTime,
}

impl Gap {
    pub(super) const fn at(at: ApiTime) -> Self {
        Self { change: "gap", at }
    }
}

impl<'a> Line<'a> {
    pub(super) const fn id(&self) -> &'a str {
        self.id
    }

    /// The state of the delivery.
    pub(super) fn state(&self) -> (Word<Status>, u32) {
        (self.status.clone(), self.attempt_count)
    }

    pub(super) fn listed(delivery: &'a DeliveryView) -> Self {
        let error = delivery.error_detail.as_deref();
        Self {
            change: "listed",
            at: delivery.last_attempted_at.unwrap_or(delivery.created_at),
            id: &delivery.id,
            event_type: &delivery.event_type,
            webhook_id: &delivery.webhook_id,
            session_id: delivery.session_id.as_deref(),
            status: &delivery.status,
            attempt_count: delivery.attempt_count,
            error: error.filter(|_| !delivery.is_delivered()),
        }
    }

    /// A change from a notification, with its reason if known.
    pub(super) fn changed(change: &'a Change, error: Option<&'a str>) -> Self {
        Self {
            change: change.name(),
            at: change.at,
            id: &change.id,
            event_type: &change.event_type,
            webhook_id: &change.webhook_id,
            session_id: change.session_id.as_deref(),
            status: &change.status,
            attempt_count: change.attempt_count,
            error: error.or(change.reason.as_deref()),
        }
    }

    /// `2026-02-21 10:00:00Z ✗ dead      task.completed  dlv_…  attempt 5 to billing: The receiver returned 500`.
    pub(super) fn for_people(&self, names: &WebhookNames, out: Output) -> String {
        let label = if self.change == REQUEUED {
            REQUEUED
        } else {
            self.status.as_str()
        };
        let mut line = format!(
            "{} {} {label:9} {}  {}",
            out.paint(Tone::Faint, short_time(self.at)),
            delivery_mark(self.status).show(out),
            printable_line(self.event_type, 60),
            printable_line(self.id, 100),
        );
        if self.attempt_count > 0 {
            line.push_str(&format!("  attempt {}", self.attempt_count));
        }
        let webhook = names.of(self.webhook_id);
        line.push_str(&format!(" to {}", printable_line(webhook, 100)));
        if let Some(error) = self.error {
            line.push_str(&format!(": {}", printable_line(error, ERROR_CHARS)));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;
    use postrider_domain::notification::NotificationKind;
    use postrider_domain::time::Timestamp;

    #[test]
    fn a_change_is_one_line_without_control_characters() {
        let mut change = Change {
            kind: NotificationKind::DeliveryDead.into(),
            at: ApiTime(Timestamp::from_millis(1_771_668_000_000)),
            id: "dlv_1".to_owned(),
            webhook_id: "wh_1".to_owned(),
            session_id: None,
            event_type: "a.b\n\u{1b}[2J".to_owned(),
            status: Status::Dead.into(),
            attempt_count: 5,
            reason: Some("attempts exhausted".to_owned()),
        };
        let (out, names) = (Output::new(Format::People, true), WebhookNames::default());
        assert_eq!(
            Line::changed(&change, None).for_people(&names, out),
            "2026-02-21 10:00:00Z ✗ dead      a.b \\u{1b}[2J  dlv_1  attempt 5 to wh_1: attempts exhausted"
        );
        change.kind = NotificationKind::DeliveryRequeued.into();
        change.status = Status::Pending.into();
        change.attempt_count = 0;
        change.reason = None;
        assert_eq!(
            Line::changed(&change, None).for_people(&names, out),
            "2026-02-21 10:00:00Z · requeued  a.b \\u{1b}[2J  dlv_1 to wh_1"
        );
    }
}
