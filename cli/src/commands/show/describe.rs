//! Displays a delivery.

use data_encoding::BASE64;
use postrider_api_types::Word;
use postrider_api_types::delivery::{DeliveryDetail, DeliveryView, RequestView};
use postrider_api_types::why::WhyView;
use postrider_domain::delivery::{DeadCause, Status};

use super::timeline::timeline;
use crate::body::pretty_body;
use crate::edge;
use crate::output::{Output, Tone, plural, printable_line};
use crate::table::facts;
use crate::views::ShowDelivery;
use crate::when::short_time;

/// Longer payloads are truncated; --json has all of it.
const SHOWN_BODY_CHARS: usize = 8000;
/// Longer sentences and headers are truncated.
const LINE_CHARS: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    WithPayload,
    WithoutPayload,
}

impl Parts {
    pub(crate) fn of(is_payload_wanted: bool) -> Self {
        if is_payload_wanted {
            Self::WithPayload
        } else {
            Self::WithoutPayload
        }
    }
}

pub(crate) fn describe(detail: &DeliveryDetail, shown: Parts, out: Output) -> String {
    let delivery = &detail.delivery;
    let mut parts = vec![headline(delivery, out)];
    parts.extend(detail.why.as_ref().map(|why| reason(why, out)));
    if !detail.attempts.is_empty() {
        parts.push(timeline(&detail.attempts, out));
    }
    parts.extend(response(detail, out));
    parts.push(request(delivery, &detail.request, out));
    let kind = detail.content_type.as_deref().unwrap_or("unknown type");
    let content = (&detail.payload, &detail.payload_base64);
    parts.extend(payload(content, kind, shown, out));
    parts.extend(rendered(&detail.request, shown, out));
    if delivery.status == Status::Dead {
        parts.push(format!("To send it again: postrider retry {}", delivery.id));
    }
    parts.join("\n\n")
}

fn headline(delivery: &DeliveryView, out: Output) -> String {
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
            ("next", next(delivery)),
            (
                "error",
                delivery
                    .error_detail
                    .clone()
                    .filter(|_| !delivery.is_delivered()),
            ),
            ("cause", delivery.dead_cause.as_ref().map(cause)),
            (
                "event",
                Some(format!("{} ({})", delivery.event_id, delivery.event_type)),
            ),
            ("session", delivery.session_id.clone()),
            ("webhook", Some(delivery.webhook_id.clone())),
            (
                "target",
                Some(delivery.target_url.clone()).filter(|url| !url.is_empty()),
            ),
            ("accepted", Some(short_time(delivery.created_at))),
            ("last attempt", delivery.last_attempted_at.map(short_time)),
        ],
    );
    format!("{headline}\n{facts}")
}

fn next(delivery: &DeliveryView) -> Option<String> {
    let next = delivery.next(edge::now())?;
    Some(match delivery.next_retry_at {
        _ if delivery.is_on_hold() => {
            let webhook = &delivery.webhook_id;
            format!("{next} (postrider webhooks resume {webhook})")
        }
        Some(at) => format!("{} ({next})", short_time(at)),
        None => next,
    })
}

fn cause(cause: &Word<DeadCause>) -> String {
    match cause {
        Word::Known(DeadCause::Exhausted) => "attempts used up".to_owned(),
        Word::Known(DeadCause::ExhaustedFailingWebhook) => {
            "attempts used up; the webhook was stopped".to_owned()
        }
        Word::Known(DeadCause::EventExpired) => "the event is no longer stored".to_owned(),
        Word::Known(DeadCause::Erased) => "the event was erased".to_owned(),
        Word::Known(_) | Word::Unknown(_) => cause.as_str().replace('_', " "),
    }
}

fn reason(why: &WhyView, out: Output) -> String {
    let mut lines = vec![
        out.paint(Tone::Strong, "WHY"),
        printable_line(&why.title, LINE_CHARS),
        format!("  {}", printable_line(&why.meaning, LINE_CHARS)),
    ];
    lines.extend(
        why.advice
            .iter()
            .map(|advice| format!("  → {}", printable_line(advice, LINE_CHARS))),
    );
    lines.push(format!("  {}", printable_line(&why.outlook, LINE_CHARS)));
    lines.join("\n")
}

fn response(detail: &DeliveryDetail, out: Output) -> Option<String> {
    let last = detail.attempts.last()?.reply.response_body.as_deref();
    let body = last.filter(|body| !body.trim().is_empty())?;
    let heading = out.paint(Tone::Strong, "START OF THE LAST RESPONSE");
    Some(format!(
        "{heading}\n{}",
        pretty_body(body.as_bytes(), SHOWN_BODY_CHARS)
    ))
}

fn request(delivery: &DeliveryView, sent: &RequestView, out: Output) -> String {
    let heading = if delivery.last_attempted_at.is_some() {
        "LAST REQUEST"
    } else {
        "NEXT REQUEST"
    };
    let mut lines = vec![
        out.paint(Tone::Strong, heading),
        format!("POST {}", printable_line(&sent.target_url, usize::MAX)),
    ];
    lines.extend(sent.headers.iter().map(|header| {
        let name = out.paint(Tone::Faint, printable_line(&header.name, 100));
        format!("{name}: {}", printable_line(&header.value, LINE_CHARS))
    }));
    lines.join("\n")
}

/// A payload, given as text or in base64.
pub(crate) fn payload(
    content: (&Option<String>, &Option<String>),
    kind: &str,
    shown: Parts,
    out: Output,
) -> Option<String> {
    let bytes = body(content)?;
    let size = format!(
        "{}, {}",
        printable_line(kind, 100),
        plural(bytes.len(), "byte")
    );
    let heading = out.paint(Tone::Strong, "PAYLOAD");
    Some(match shown {
        Parts::WithPayload => {
            format!(
                "{heading} {size}\n{}",
                pretty_body(&bytes, SHOWN_BODY_CHARS)
            )
        }
        Parts::WithoutPayload => format!("{heading} {size} (use --payload to see it)"),
    })
}

/// What the webhook's template makes of the payload.
fn rendered(sent: &RequestView, shown: Parts, out: Output) -> Option<String> {
    let body = sent.body.as_ref().filter(|_| shown == Parts::WithPayload)?;
    let heading = out.paint(Tone::Strong, "BODY");
    let text = pretty_body(body.as_bytes(), SHOWN_BODY_CHARS);
    Some(format!("{heading} as the template renders it now\n{text}"))
}

fn body(content: (&Option<String>, &Option<String>)) -> Option<Vec<u8>> {
    match content {
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
    fn a_dead_delivery_is_shown_with_its_attempts_and_how_to_retry_it() {
        let delivery: DeliveryDetail = serde_json::from_str(
            r#"{"id":"dlv_1","event_id":"evt_1","event_type":"task.completed","webhook_id":"wh_1","session_id":null,
                "target_url":"https://example.com/","signature":"","status":"dead","attempt_count":1,"max_attempts":1,
                "last_attempted_at":"2026-02-21T10:00:00Z","next_retry_at":null,"created_at":"2026-02-21T10:00:00Z",
                "error_detail":"HTTP status 500","dead_cause":"webhook_deleted","content_type":"application/json","payload":"{\"a\":1}","attempts":[{"number":1,
                "at":"2026-02-21T10:00:00Z","status_code":500,"elapsed_ms":12,"timings":{"dns_ms":1,"connect_ms":null,"first_byte_ms":9},"error":"HTTP status 500","phase":null,
                "response_body":"\u001b[31moops"}],
                "why":{"title":"The webhook was deleted","meaning":"So it is.","advice":["Recreate\u001b[2J it."],"outlook":"Given up."},
                "request":{"target_url":"https://example.com/","headers":[{"name":"webhook-id","value":"dlv_1"}],"body":"{\"b\":2}"}}"#,
        )
        .unwrap();
        let out = Output::new(Format::People, true);
        let shown = describe(&delivery, Parts::WithPayload, out);
        for part in [
            "✗ dead",
            "1 of 1",
            "webhook deleted",
            "WHY\nThe webhook was deleted\n  So it is.\n  → Recreate\\u{1b}[2J it.\n  Given up.",
            "500 Internal Server Error, 12 ms",
            "dns 1 ms · first byte 9 ms",
            "\\u{1b}[31moops",
            "LAST REQUEST\nPOST https://example.com/\nwebhook-id: dlv_1",
            "application/json, 7 bytes\n{\n  \"a\": 1\n}",
            "BODY as the template renders it now\n{\n  \"b\": 2\n}",
            "postrider retry dlv_1",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(
            !shown.contains("session") && !shown.contains('\u{1b}'),
            "{shown}"
        );
        let without = describe(&delivery, Parts::WithoutPayload, out);
        assert!(
            without.contains("7 bytes (use --payload to see it)") && !without.contains("\"a\""),
            "{without}"
        );
    }
}
