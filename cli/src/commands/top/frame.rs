//! A frame: key stats, webhooks needing attention, recent failures.

use postrider_api_types::ApiTime;
use postrider_api_types::delivery::DeliveryView;
use postrider_api_types::stats::KeyStatView;
use postrider_api_types::webhook::WebhookView;

use super::super::stats::{ShowKeyStat, named};
use super::line::{Line, Size};
use super::picture::{Picture, failed_at};
use crate::output::{Tone, plural};
use crate::table::Mark;
use crate::views::{ShowDelivery, ShowWebhook};
use crate::when::short_time;

const KEYS: &str = "q quit · p pause · j/k move · enter show · r retry";
/// The width of the longest name of a stat.
const NAME: usize = 32;

pub(super) struct Frame<'a> {
    pub(super) picture: &'a Picture,
    pub(super) gateway: &'a str,
    pub(super) window: &'a str,
    /// Rates per second; none for a single frame.
    pub(super) rates: Option<String>,
    /// The selected failure.
    pub(super) selected: Option<&'a str>,
    /// A message in the last line.
    pub(super) message: Option<&'a Message>,
}

#[derive(Debug)]
pub(super) struct Message {
    pub(super) tone: Tone,
    pub(super) text: String,
}

impl Frame<'_> {
    /// Everything, for output that can scroll.
    pub(super) fn whole(&self) -> Vec<Line> {
        let mut lines = self.head();
        lines.push(Line::default());
        lines.extend(self.key_stats());
        lines.push(Line::default());
        lines.extend(self.unhealthy(usize::MAX));
        lines.push(Line::default());
        lines.extend(self.failures(usize::MAX));
        lines
    }

    /// As much as fits: empty lines and then webhooks are dropped before the most recent failures.
    pub(super) fn fitted(&self, size: Size) -> Vec<Line> {
        let is_low = size.rows < 20;
        let gap = || (!is_low).then(Line::default);
        let mut lines = self.head();
        lines.extend(gap());
        lines.extend(self.key_stats());
        lines.extend(gap());
        let room = size.rows.saturating_sub(lines.len());
        lines.extend(self.unhealthy((room / 3).max(1)));
        lines.extend(gap());
        let footer = 1;
        let room = size.rows.saturating_sub(lines.len() + footer + 1);
        lines.extend(self.failures(room));
        lines.truncate(size.rows.saturating_sub(footer));
        lines.resize(size.rows.saturating_sub(footer), Line::default());
        lines.push(self.footer());
        lines
    }

    fn head(&self) -> Vec<Line> {
        let total = &self.picture.stats.total.counters;
        let counted = format!(
            "last {}: {} delivered, {} dead, {}",
            self.window,
            total.delivered,
            total.dead,
            plural(total.attempts, "attempt")
        );
        let mut counts = Line::text(&counted);
        if let Some(rates) = &self.rates {
            counts = counts.then(Some(Tone::Strong), &format!("  now {rates}"));
        }
        let at = short_time(ApiTime(self.picture.taken_at));
        vec![
            Line::toned(Tone::Strong, "postrider top")
                .then(None, &format!("  {}", self.gateway))
                .then(Some(Tone::Faint), &format!("  {at}")),
            counts,
        ]
    }

    fn key_stats(&self) -> Vec<Line> {
        let key_stats = named(&self.picture.stats.total).into_iter();
        let line = |(name, key_stat, unit): (&str, &KeyStatView, &str)| {
            let mark = key_stat.mark();
            let tone = (mark == Mark::Bad).then_some(Tone::Bad);
            Line::default()
                .mark(mark)
                .column(None, name, NAME)
                .column(tone, &key_stat.show(unit), 9)
                .then(
                    Some(Tone::Faint),
                    &format!("alert {}", key_stat.bad_when(unit)),
                )
        };
        key_stats.map(line).collect()
    }

    fn unhealthy(&self, room: usize) -> Vec<Line> {
        let unhealthy = &self.picture.unhealthy;
        let heading = |text: &str| Line::toned(Tone::Strong, text);
        if unhealthy.is_empty() {
            let all = match self.picture.webhooks {
                0 => "No webhooks".to_owned(),
                1 => "1 webhook OK".to_owned(),
                count => format!("All {count} webhooks OK"),
            };
            return vec![heading(&all)];
        }
        let mut lines = vec![heading(&format!(
            "WEBHOOKS NEEDING ATTENTION: {} of {}",
            unhealthy.len(),
            self.picture.webhooks
        ))];
        lines.extend(unhealthy.iter().take(room).map(webhook));
        lines
    }

    fn failures(&self, room: usize) -> Vec<Line> {
        let failures = &self.picture.failures;
        if failures.is_empty() {
            return vec![Line::toned(Tone::Strong, "No recent failures")];
        }
        let at = self.position().unwrap_or(0);
        // Keeps the selected failure visible.
        let first = (at + 1).saturating_sub(room);
        let shown = failures.iter().skip(first).take(room);
        let mut lines = vec![Line::toned(Tone::Strong, "RECENT FAILURES")];
        lines.extend(shown.map(|row| failure(row, Some(row.id.as_str()) == self.selected)));
        lines
    }

    fn position(&self) -> Option<usize> {
        let selected = self.selected?;
        let mut failures = self.picture.failures.iter();
        failures.position(|row| row.id == selected)
    }

    fn footer(&self) -> Line {
        match self.message {
            Some(message) => Line::toned(message.tone, &message.text),
            None => Line::toned(Tone::Faint, KEYS),
        }
    }
}

fn webhook(webhook: &WebhookView) -> Line {
    let reason = webhook.status_reason.as_deref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    let limit = webhook.limit();
    let limit = limit.map_or_else(String::new, |limit| format!(", {limit}"));
    let backlog = webhook.backlog();
    let backlog = backlog.map_or_else(String::new, |backlog| format!("; backlog: {backlog}"));
    Line::text("  ")
        .mark(webhook.mark())
        .column(None, &webhook.name, 24)
        .then(
            None,
            &format!("{}{reason}{limit}{backlog}", webhook.state()),
        )
        .then(Some(Tone::Faint), &format!("  {}", webhook.id))
}

fn failure(row: &DeliveryView, is_selected: bool) -> Line {
    let (sign, tone) = if is_selected {
        ("▸", Some(Tone::Strong))
    } else {
        (" ", None)
    };
    let at = short_time(failed_at(row));
    let time = at.get(11..19).unwrap_or(&at);
    Line::default()
        .column(tone, sign, 1)
        .mark(row.mark())
        .column(tone, row.status.as_str(), 6)
        .column(None, &row.tries(), 8)
        .column(Some(Tone::Faint), time, 8)
        .column(tone, &row.event_type, 22)
        .column(None, row.error_detail.as_deref().unwrap_or_default(), 36)
        .then(Some(Tone::Faint), &row.id)
}

#[cfg(test)]
mod tests;
