//! A delivery for people.

use data_encoding::BASE64;

use crate::body::pretty_body;
use crate::edge;
use crate::output::{Output, Tone, printable_line};
use crate::shapes::{Attempt, Delivery};
use crate::table::{Mark, Table, facts};
use crate::when::{short_time, until};

/// A payload on a screen; the whole of it comes with --json.
const SHOWN_BODY_CHARS: usize = 8000;

/// A delivery with its attempts, its payload and what can be done.
pub(super) fn describe(delivery: &Delivery, out: Output) -> String {
    let open = !delivery.is_settled();
    let next = delivery.next_retry_at.as_deref().filter(|_| open);
    let headline = format!(
        "{} {}  {}",
        delivery.mark().show(out),
        delivery.status,
        printable_line(&delivery.id, 100)
    );
    let facts = facts(
        out,
        [
            ("attempts", Some(delivery.tries())),
            (
                "next",
                next.map(|at| format!("{} ({})", short_time(at), until(at, edge::now()))),
            ),
            (
                "error",
                delivery
                    .error_detail
                    .clone()
                    .filter(|_| !delivery.is_delivered()),
            ),
            (
                "because",
                delivery
                    .dead_cause
                    .as_deref()
                    .map(|cause| cause.replace('_', " ")),
            ),
            (
                "event",
                Some(format!("{} ({})", delivery.event_id, delivery.event_type)),
            ),
            ("session", delivery.session_id.clone()),
            ("webhook", Some(delivery.webhook_id.clone())),
            (
                "target",
                delivery.target_url.clone().filter(|url| !url.is_empty()),
            ),
            ("accepted", Some(short_time(&delivery.created_at))),
            (
                "tried last",
                delivery.last_attempted_at.as_deref().map(short_time),
            ),
        ],
    );
    let mut parts = vec![format!("{headline}\n{facts}")];
    if !delivery.attempts.is_empty() {
        parts.push(attempts(&delivery.attempts, out));
    }
    if let Some(response) = delivery
        .attempts
        .last()
        .and_then(|attempt| attempt.response_body.as_deref())
    {
        let heading = out.paint(Tone::Strong, "LAST RESPONSE");
        parts.push(format!(
            "{heading}\n{}",
            pretty_body(response.as_bytes(), SHOWN_BODY_CHARS)
        ));
    }
    if let Some(payload) = payload(delivery) {
        parts.push(format!(
            "{}\n{}",
            out.paint(Tone::Strong, "PAYLOAD"),
            pretty_body(&payload, SHOWN_BODY_CHARS)
        ));
    }
    if delivery.status == "dead" {
        parts.push(format!("Send it again: postrider retry {}", delivery.id));
    }
    parts.join("\n\n")
}

fn attempts(attempts: &[Attempt], out: Output) -> String {
    let mut table = Table::new([
        "ATTEMPT",
        "AT",
        "ANSWER",
        "ELAPSED",
        "PHASES IN MS",
        "FAILED IN",
        "ERROR",
    ]);
    for attempt in attempts {
        let mark = if attempt.error.is_none() {
            Mark::Good
        } else {
            Mark::Bad
        };
        table.row(
            mark,
            [
                attempt.number.to_string(),
                short_time(&attempt.at),
                attempt
                    .status_code
                    .map_or_else(|| "none".to_owned(), |code| code.to_string()),
                attempt
                    .elapsed_ms
                    .map(|ms| format!("{ms} ms"))
                    .unwrap_or_default(),
                attempt.timings.phases(),
                attempt.phase.clone().unwrap_or_default(),
                attempt.error.clone().unwrap_or_default(),
            ],
        );
    }
    table.show(out)
}

fn payload(delivery: &Delivery) -> Option<Vec<u8>> {
    match (&delivery.payload, &delivery.payload_base64) {
        (Some(text), _) => Some(text.clone().into_bytes()),
        (None, Some(encoded)) => BASE64.decode(encoded.as_bytes()).ok(),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    #[test]
    fn a_dead_delivery_is_told_with_its_attempts_and_the_way_back() {
        let delivery: Delivery = serde_json::from_str(
            r#"{"id":"dlv_1","event_id":"evt_1","event_type":"task.completed","webhook_id":"wh_1","session_id":null,
                "target_url":"https://example.com/","signature":"","status":"dead","attempt_count":1,"max_attempts":1,
                "last_attempted_at":"2026-02-21T10:00:00Z","next_retry_at":null,"created_at":"2026-02-21T10:00:00Z",
                "error_detail":"HTTP status 500","dead_cause":"webhook_deleted","payload":"{\"a\":1}","attempts":[{"number":1,
                "at":"2026-02-21T10:00:00Z","status_code":500,"elapsed_ms":12,"timings":{"dns_ms":1,"connect_ms":null,"first_byte_ms":9},"error":"HTTP status 500","phase":null,
                "response_body":"\u001b[31moops"}]}"#,
        )
        .unwrap();
        let shown = describe(&delivery, Output::new(Format::People, true));
        for part in [
            "✗ dead",
            "1 of 1",
            "webhook deleted",
            "12 ms",
            "dns 1, first byte 9",
            "\\u{1b}[31moops",
            "{\n  \"a\": 1\n}",
            "postrider retry dlv_1",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(
            !shown.contains("session") && !shown.contains('\u{1b}'),
            "{shown}"
        );
    }
}
