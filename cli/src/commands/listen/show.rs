//! A request for people, or as one line of JSON.

use data_encoding::BASE64;
use http::StatusCode;
use http::request::Parts;
use postrider_domain::time::Timestamp;
use serde::Serialize;

use super::verdict::Verdict;
use crate::body::pretty_body;
use crate::failure::Failure;
use crate::output::{Output, Tone, printable_line};

const SHOWN_BODY_CHARS: usize = 2000;
const INDENT: &str = "    ";

/// A request and what was made of it.
pub(super) struct Received<'a> {
    pub(super) at: Timestamp,
    pub(super) head: &'a Parts,
    pub(super) body: &'a [u8],
    pub(super) verdict: Verdict,
    pub(super) answer: StatusCode,
}

impl Received<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }
}

/// The same for programs.
#[derive(Serialize)]
struct Line<'a> {
    at: String,
    method: &'a str,
    path: &'a str,
    webhook_id: Option<&'a str>,
    event_type: Option<&'a str>,
    session_id: Option<&'a str>,
    retry: Option<u32>,
    #[serde(flatten)]
    verdict: &'a Verdict,
    answer: u16,
    body: Option<&'a str>,
    body_base64: Option<String>,
}

/// Writes it in one piece, because requests come at the same time.
pub(super) fn show(received: &Received<'_>, out: Output) -> Result<(), Failure> {
    if out.wants_json() {
        out.value(&line(received))
    } else {
        out.line(block(received, out))
    }
}

fn line<'a>(received: &'a Received<'_>) -> Line<'a> {
    let body = std::str::from_utf8(received.body).ok();
    Line {
        at: received.at.to_string(),
        method: received.head.method.as_str(),
        path: received.head.uri.path(),
        webhook_id: received.header("webhook-id"),
        event_type: received.header("x-webhook-event"),
        session_id: received.header("x-webhook-session"),
        retry: received
            .header("x-webhook-retry")
            .and_then(|retry| retry.parse().ok()),
        verdict: &received.verdict,
        answer: received.answer.as_u16(),
        body,
        body_base64: body.is_none().then(|| BASE64.encode(received.body)),
    }
}

fn block(received: &Received<'_>, out: Output) -> String {
    let clean = |text: &str| printable_line(text, 100);
    let time = received.at.to_string();
    let time = time.get(11..23).unwrap_or(&time);
    let what = match received.header("x-webhook-event") {
        Some(event_type) => out.paint(Tone::Strong, clean(event_type)),
        None => format!(
            "{} {}",
            received.head.method,
            clean(received.head.uri.path())
        ),
    };
    let mut first = vec![out.paint(Tone::Faint, time), what];
    if let Some(session) = received.header("x-webhook-session") {
        first.push(format!("session {}", clean(session)));
    }
    match received.header("x-webhook-retry") {
        None | Some("0") => {}
        Some(retry) => first.push(out.paint(Tone::Warning, format!("retry {}", clean(retry)))),
    }
    let tone = if received.answer.is_success() {
        Tone::Good
    } else {
        Tone::Bad
    };
    first.push(format!("→ {}", out.paint(tone, received.answer.as_u16())));

    let verdict = match &received.verdict {
        Verdict::Genuine => out.paint(Tone::Good, "✓ verified"),
        Verdict::Unsigned => out.paint(Tone::Warning, "not signed"),
        Verdict::Unverified => out.paint(Tone::Faint, "signed; not verified without --secret"),
        Verdict::Forged(why) => out.paint(Tone::Bad, format!("✗ not verified: {why}")),
    };
    let mut second = vec![verdict];
    second.extend(
        received
            .header("webhook-id")
            .map(|id| out.paint(Tone::Faint, clean(id))),
    );

    let body = pretty_body(received.body, SHOWN_BODY_CHARS);
    let body = body
        .lines()
        .map(|line| format!("{INDENT}{line}\n"))
        .collect::<String>();
    format!("{}\n  {}\n{body}", first.join("  "), second.join("  "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(
            http::Request::post("/hook?x=1"),
            |request, (name, value)| request.header(*name, *value),
        );
        request.body(()).unwrap().into_parts().0
    }

    fn received<'a>(head: &'a Parts, body: &'a [u8], verdict: Verdict) -> Received<'a> {
        let at = Timestamp::from_millis(1_771_668_000_123);
        Received {
            at,
            head,
            body,
            verdict,
            answer: StatusCode::OK,
        }
    }

    #[test]
    fn a_request_is_shown_with_all_that_matters() {
        let head = head(&[
            ("x-webhook-event", "task.completed"),
            ("x-webhook-session", "s-1"),
            ("x-webhook-retry", "2"),
            ("webhook-id", "dlv_1"),
        ]);
        let shown = block(
            &received(&head, br#"{"a":1}"#, Verdict::Genuine),
            Output::new(Format::People, true),
        );
        let expected = "10:00:00.123  task.completed  session s-1  retry 2  → 200\n  ✓ verified  dlv_1\n    {\n      \"a\": 1\n    }\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn programs_get_the_body_as_it_came() {
        let head = head(&[]);
        let json = serde_json::to_value(line(&received(
            &head,
            b"{\"b\":1, \"a\":2}",
            Verdict::Unsigned,
        )))
        .unwrap();
        assert_eq!(
            (&json["body"], &json["verdict"]),
            (&"{\"b\":1, \"a\":2}".into(), &"unsigned".into())
        );
        let forged = Verdict::Forged("why".to_owned());
        let json = serde_json::to_value(line(&received(&head, &[0xff], forged))).unwrap();
        assert_eq!(
            (&json["body_base64"], &json["reason"]),
            (&"/w==".into(), &"why".into())
        );
    }
}
