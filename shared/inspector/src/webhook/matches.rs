//! Which of the last events a webhook would have got, before its filter is saved.

use postrider_domain::pattern::Pattern;
use postrider_domain::payload_filter::PayloadFilter;
use postrider_gateway::filter_preview::{TriedEvent, TriedResult, try_filter};

use crate::App;
use crate::page::PageError;
use crate::session::Viewer;
use crate::text::{self, Markup, Pill};

/// The conditions that a row names; the name of a field may be as long as the filter.
const NAMED: usize = 5;
const NAMED_CHARS: usize = 80;

pub(super) struct Matches {
    pub(super) summary: String,
    pub(super) rows: Vec<MatchRow>,
}

pub(super) struct MatchRow {
    pub(super) id: String,
    pub(super) short_id: String,
    pub(super) event_type: String,
    pub(super) created_at: Markup,
    pub(super) state: Pill,
    /// Some of the conditions that fail.
    pub(super) failed: Vec<String>,
    /// How many more there are.
    pub(super) more: usize,
}

pub(super) async fn read(
    app: &App,
    viewer: &Viewer,
    event_types: &[Pattern],
    filter: Option<&PayloadFilter>,
) -> Result<Matches, PageError> {
    let store = &*app.gateway.ports.store;
    let tried = try_filter(store, viewer.tenant(), event_types, filter).await?;
    Ok(Matches {
        summary: summary(&tried),
        rows: tried.into_iter().map(row).collect(),
    })
}

fn summary(tried: &[TriedEvent]) -> String {
    let matched = tried
        .iter()
        .filter(|event| event.result == TriedResult::Matches)
        .count();
    match tried.len() {
        0 => "There are no events to try it on yet.".to_owned(),
        1 if matched == 0 => "Would not have received the last event.".to_owned(),
        1 => "Would have received the last event.".to_owned(),
        n => format!("Would have received {matched} of the last {n} events."),
    }
}

fn row(tried: TriedEvent) -> MatchRow {
    let id = tried.id.to_string();
    let (class, state, failed) = match tried.result {
        TriedResult::Matches => ("delivered", "Match", Vec::new()),
        TriedResult::OtherType => ("", "Other event type", Vec::new()),
        TriedResult::Fails(failed) => ("failed", "No match", failed),
    };
    MatchRow {
        short_id: text::short_id(&id),
        id,
        event_type: tried.event_type.as_str().to_owned(),
        created_at: text::when(tried.created_at),
        state: Pill {
            class,
            text: state.to_owned(),
        },
        more: failed.len().saturating_sub(NAMED),
        failed: failed.iter().take(NAMED).map(|one| place(one)).collect(),
    }
}

/// An empty pointer is the whole filter.
fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        "the whole filter".to_owned()
    } else {
        text::short(pointer, NAMED_CHARS)
    }
}

#[cfg(test)]
mod tests {
    use postrider_domain::ids::EventId;
    use postrider_domain::time::Timestamp;

    use super::*;

    #[test]
    fn the_summary_is_a_sentence_for_any_number_of_events() {
        let tried = |results: &[TriedResult]| {
            let event = |result: &TriedResult| TriedEvent {
                id: EventId::from_bytes([1; 16]),
                event_type: "order.paid".parse().unwrap(),
                created_at: Timestamp::ZERO,
                result: result.clone(),
            };
            summary(&results.iter().map(event).collect::<Vec<_>>())
        };
        let (yes, no) = (TriedResult::Matches, TriedResult::OtherType);
        for (results, expected) in [
            (vec![], "There are no events to try it on yet."),
            (vec![no.clone()], "Would not have received the last event."),
            (vec![yes.clone()], "Would have received the last event."),
            (vec![yes, no], "Would have received 1 of the last 2 events."),
        ] {
            assert_eq!(tried(&results), expected);
        }
    }
}
