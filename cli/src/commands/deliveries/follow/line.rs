//! One change as a line of text or JSON.

use serde::Serialize;

use crate::live::Change;
use crate::output::{Output, Tone, printable_line};
use crate::shapes::{Delivery, delivery_mark};
use crate::when::short_time;

const ERROR_CHARS: usize = 160;

#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    /// `listed` for deliveries that existed at the start.
    change: &'a str,
    at: &'a str,
    id: &'a str,
    event_type: &'a str,
    webhook_id: &'a str,
    session_id: Option<&'a str>,
    status: &'a str,
    attempt_count: u32,
    error: Option<&'a str>,
}

impl<'a> Line<'a> {
    pub(super) fn listed(delivery: &'a Delivery) -> Self {
        let at = delivery.last_attempted_at.as_deref();
        let error = delivery.error_detail.as_deref();
        Self {
            change: "listed",
            at: at.unwrap_or(&delivery.created_at),
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
            change: &change.change,
            at: &change.at,
            id: &change.id,
            event_type: &change.event_type,
            webhook_id: &change.webhook_id,
            session_id: change.session_id.as_deref(),
            status: &change.status,
            attempt_count: change.attempt_count,
            error: error.or(change.reason.as_deref()),
        }
    }

    /// `2026-02-21 10:00:00Z ✗ dead      task.completed  dlv_…  attempt 5 to wh_…: The receiver returned 500`.
    pub(super) fn for_people(&self, out: Output) -> String {
        let label = if self.change == "requeued" {
            "requeued"
        } else {
            self.status
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
        line.push_str(&format!(" to {}", printable_line(self.webhook_id, 100)));
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

    #[test]
    fn a_change_is_one_line_without_control_characters() {
        let mut change = Change {
            change: "dead".to_owned(),
            at: "2026-02-21T10:00:00.000Z".to_owned(),
            id: "dlv_1".to_owned(),
            webhook_id: "wh_1".to_owned(),
            session_id: None,
            event_type: "a.b\n\u{1b}[2J".to_owned(),
            status: "dead".to_owned(),
            attempt_count: 5,
            reason: Some("attempts exhausted".to_owned()),
        };
        let out = Output::new(Format::People, true);
        assert_eq!(
            Line::changed(&change, None).for_people(out),
            "2026-02-21 10:00:00Z ✗ dead      a.b \\u{1b}[2J  dlv_1  attempt 5 to wh_1: attempts exhausted"
        );
        change.change = "requeued".to_owned();
        change.status = "pending".to_owned();
        change.attempt_count = 0;
        change.reason = None;
        assert_eq!(
            Line::changed(&change, None).for_people(out),
            "2026-02-21 10:00:00Z · requeued  a.b \\u{1b}[2J  dlv_1 to wh_1"
        );
    }
}
