//! The payload of every message: 1 KiB of JSON with the message's number and its publication time.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

/// The length of a payload, unless another one is measured.
pub(crate) const BYTES: usize = 1024;

const NUMBER_AT: usize = r#"{"n":""#.len();
const NUMBER_DIGITS: usize = 10;
const TIME_AT: usize = NUMBER_AT + NUMBER_DIGITS + r#"","at":""#.len();
const TIME_DIGITS: usize = 16;

/// The payload of message `number`, published at `at`.
pub(crate) fn payload(number: u64, at: u64) -> String {
    payload_of(BYTES, number, at)
}

/// The same with this length.
fn payload_of(bytes: usize, number: u64, at: u64) -> String {
    let mut text = format!(r#"{{"n":"{number:010}","at":"{at:016}","text":""#);
    let end = r#""}"#;
    text.extend(std::iter::repeat_n('x', bytes - text.len() - end.len()));
    text.push_str(end);
    text
}

/// The same as an event for one webhook.
pub(crate) fn event(webhook: &str, number: u64, at: u64) -> Bytes {
    event_of(BYTES, webhook, number, at)
}

/// The same with a payload of this length.
pub(crate) fn event_of(bytes: usize, webhook: &str, number: u64, at: u64) -> Bytes {
    let payload = payload_of(bytes, number, at);
    format!(r#"{{"type":"bench.event","webhook_id":"{webhook}","payload":{payload}}}"#).into()
}

/// The same as an event for every webhook.
pub(crate) fn event_for_all(number: u64, at: u64) -> Bytes {
    let payload = payload(number, at);
    format!(r#"{{"type":"bench.event","payload":{payload}}}"#).into()
}

/// The messages with these numbers as one batch, for every webhook.
pub(crate) fn batch(numbers: Range<u64>, at: u64) -> Bytes {
    let events: Vec<_> = numbers
        .map(|number| {
            format!(
                r#"{{"type":"bench.event","payload":{}}}"#,
                payload(number, at)
            )
        })
        .collect();
    format!(r#"{{"events":[{}]}}"#, events.join(",")).into()
}

/// The number and publication time of the message with this payload.
pub(crate) fn read(payload: &[u8]) -> Option<(u64, u64)> {
    let digits = |at: usize, count: usize| {
        let text = payload.get(at..at + count)?;
        std::str::from_utf8(text).ok()?.parse().ok()
    };
    Some((
        digits(NUMBER_AT, NUMBER_DIGITS)?,
        digits(TIME_AT, TIME_DIGITS)?,
    ))
}

/// Now, in microseconds since the epoch: all processes of a run share this clock.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(since.as_micros()).unwrap()
}
