//! What AWS hands to the functions behind queues, streams, topics and buses: recorded events with changes, or any text.

mod attempts;
mod bus;
mod changes;
mod clock;
mod emails;
mod fresh_rows;
mod nested;

use arbitrary::{Arbitrary, Unstructured};
use serde_json::Value;

use super::Outcome;
use super::json_edits::{JsonEdit, MAX_EDITS, Vocabulary};

#[derive(Arbitrary, Debug)]
struct Handed<'a> {
    function: Function,
    event: Event<'a>,
    trouble: Trouble,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Function {
    Dispatcher,
    Publisher,
    Watcher,
    Notifier,
    Bridge,
}

#[derive(Arbitrary, Debug)]
enum Event<'a> {
    Sample(u8, Vec<JsonEdit<'a>>),
    Raw(&'a str),
}

/// What else goes wrong.
#[derive(Arbitrary, Clone, Copy, Debug)]
struct Trouble {
    /// Whether the store, the mail service or the queue for what cannot be read is down.
    is_down: bool,
    /// The changes that cannot be processed, one per bit.
    failing: u8,
}

impl Event<'_> {
    /// The event as text.
    fn text(&self, samples: &[&str]) -> String {
        match self {
            Self::Raw(text) => (*text).to_owned(),
            Self::Sample(n, edits) => {
                let sample = samples[usize::from(*n) % samples.len()];
                let mut sample = nested::unfolded(serde_json::from_str(sample).unwrap());
                let vocabulary = vocabulary(&sample);
                for edit in edits.iter().take(MAX_EDITS) {
                    vocabulary.edit(&mut sample, edit);
                }
                nested::folded(sample).to_string()
            }
        }
    }

    /// The event as the functions that take JSON get it; nothing if it is not JSON.
    fn json(&self, samples: &[&str]) -> Option<Value> {
        serde_json::from_str(&self.text(samples)).ok()
    }
}

fn vocabulary(sample: &Value) -> Vocabulary {
    let mut vocabulary = Vocabulary::default();
    vocabulary.learn(sample);
    let words = [
        "attempt",
        "probe",
        "drain",
        "default",
        "acme",
        "pending",
        "failed",
        "delivered",
        "dead",
        "state",
        "event",
        "webhook#wh_agniwlcnlz7wbamsuo2mlvxh7a",
        "webhook.failed",
        "webhook.degraded",
        "delivery.dead",
        "S",
        "N",
        "B",
        "BOOL",
        "NULL",
        "L",
        "M",
        "AAAA",
        "wh_agniwlcnlz7wbamsuo2mlvxh7a",
        "default#evt_agniwlcnlz7wbamsuo2mlvxh7e",
        "0",
        "-1",
        "9223372036854775807",
        "1e400",
        "2026-11-16T08:00:00Z",
        "-009999-01-01T00:00:00Z",
        MARKUP,
        "",
    ];
    vocabulary.words.extend(words.map(str::to_owned));
    vocabulary
}

/// Would be markup in an e-mail that does not escape it, and a header of its own.
const MARKUP: &str = "\"'><postrider-probe>\r\nbcc: probe@example.com";

/// Hands an event to a function.
///
/// # Panics
/// When a record that it cannot read is lost, or affects another.
pub fn try_records(input: &[u8]) -> Outcome {
    let Ok(handed) = Handed::arbitrary(&mut Unstructured::new(input)) else {
        return Outcome::Nothing;
    };
    let Handed {
        function,
        event,
        trouble,
    } = &handed;
    match function {
        Function::Dispatcher => attempts::hand(event),
        Function::Publisher => changes::hand(event, *trouble),
        Function::Watcher => fresh_rows::hand(event, *trouble),
        Function::Notifier => emails::hand(event, *trouble),
        Function::Bridge => bus::hand(event, *trouble),
    }
}

/// How many records an event has, if it is clear which they are.
fn records(event: &Value) -> Option<&Vec<Value>> {
    event.as_object()?.get("Records")?.as_array()
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<_> = items.into_iter().collect();
    items.sort();
    items
}
