//! Displays a request as text or as one line of JSON.

use data_encoding::BASE64;
use http::request::Parts;
use postrider_domain::time::Timestamp;
use serde::Serialize;

use super::answer::Answer;
use super::verdict::Verdict;
use crate::body::pretty_body;
use crate::failure::Failure;
use crate::output::{Output, Tone, printable_line};

const SHOWN_BODY_CHARS: usize = 2000;
const SHOWN_ANSWER_CHARS: usize = 500;
const INDENT: &str = "    ";
const WITHHELD: &str = "not forwarded: it is not verified";

/// A request with its verdict and response.
pub(super) struct Received<'a> {
    pub(super) at: Timestamp,
    pub(super) head: &'a Parts,
    pub(super) body: &'a [u8],
    pub(super) verdict: Verdict,
    pub(super) answer: &'a Answer,
}

impl Received<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }
}

/// The JSON line.
#[derive(Serialize)]
struct Line<'a> {
    at: String,
    method: &'a str,
    path: &'a str,
    webhook_id: Option<&'a str>,
    event_type: Option<&'a str>,
    session_id: Option<&'a str>,
    intent: Option<&'a str>,
    retry: Option<u32>,
    #[serde(flatten)]
    verdict: &'a Verdict,
    answer: u16,
    forwarded: Option<ForwardedLine<'a>>,
    body: Option<&'a str>,
    body_base64: Option<String>,
}

/// The result of forwarding it.
#[derive(Serialize)]
struct ForwardedLine<'a> {
    elapsed_ms: Option<u64>,
    answer_body: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> ForwardedLine<'a> {
    fn of(answer: &'a Answer) -> Option<Self> {
        let failed = |error| Self {
            elapsed_ms: None,
            answer_body: None,
            error: Some(error),
        };
        match answer {
            Answer::Configured(_) => None,
            Answer::Forwarded(answered) => Some(Self {
                elapsed_ms: Some(answered.elapsed.get()),
                answer_body: std::str::from_utf8(&answered.body).ok(),
                error: None,
            }),
            Answer::Unreachable(reason) => Some(failed(reason)),
            Answer::Withheld => Some(failed(WITHHELD)),
        }
    }
}

/// Writes it in one piece, because requests are handled concurrently.
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
        intent: received.header("x-webhook-intent"),
        retry: received
            .header("x-webhook-retry")
            .and_then(|retry| retry.parse().ok()),
        verdict: &received.verdict,
        answer: received.answer.status().as_u16(),
        forwarded: ForwardedLine::of(received.answer),
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
    if let Some(intent) = received.header("x-webhook-intent") {
        first.push(format!("intent {}", clean(intent)));
    }
    match received.header("x-webhook-retry") {
        None | Some("0") => {}
        Some(retry) => first.push(out.paint(Tone::Warning, format!("retry {}", clean(retry)))),
    }
    first.push(answer(received.answer, out));

    let verdict = match &received.verdict {
        Verdict::Genuine => out.paint(Tone::Good, "✓ verified"),
        Verdict::Unsigned => out.paint(Tone::Warning, "not signed"),
        Verdict::Unverified => out.paint(Tone::Faint, "signed, not verified (no --secret)"),
        Verdict::Forged(why) => out.paint(Tone::Bad, format!("✗ not verified: {why}")),
    };
    let mut second = vec![verdict];
    second.extend(
        received
            .header("webhook-id")
            .map(|id| out.paint(Tone::Faint, clean(id))),
    );

    let body = indented(received.body, SHOWN_BODY_CHARS);
    let answered = answer_body(received.answer);
    let (first, second) = (first.join("  "), second.join("  "));
    format!("{first}\n  {second}\n{body}{answered}")
}

/// `→ 200`, and where it comes from.
fn answer(answer: &Answer, out: Output) -> String {
    let status = answer.status();
    let tone = if status.is_success() {
        Tone::Good
    } else {
        Tone::Bad
    };
    let status = out.paint(tone, status.as_u16());
    match answer {
        Answer::Configured(_) => format!("→ {status}"),
        Answer::Forwarded(answered) => format!("→ {status} forwarded, {}", answered.elapsed),
        Answer::Unreachable(reason) => {
            format!("→ {status} not forwarded: {}", printable_line(reason, 100))
        }
        Answer::Withheld => format!("→ {status} {WITHHELD}"),
    }
}

fn answer_body(answer: &Answer) -> String {
    match answer {
        Answer::Forwarded(answered) if !answered.body.is_empty() => {
            format!(
                "  response\n{}",
                indented(&answered.body, SHOWN_ANSWER_CHARS)
            )
        }
        Answer::Forwarded(_)
        | Answer::Configured(_)
        | Answer::Unreachable(_)
        | Answer::Withheld => String::new(),
    }
}

fn indented(body: &[u8], max_chars: usize) -> String {
    let lines = pretty_body(body, max_chars);
    lines
        .lines()
        .map(|line| format!("{INDENT}{line}\n"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::forward::Answered;
    use super::*;
    use crate::output::Format;
    use http::{HeaderMap, StatusCode};
    use postrider_domain::time::Millis;

    fn head(headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(
            http::Request::post("/hook?x=1"),
            |request, (name, value)| request.header(*name, *value),
        );
        request.body(()).unwrap().into_parts().0
    }

    static OK: Answer = Answer::Configured(StatusCode::OK);

    fn received<'a>(head: &'a Parts, body: &'a [u8], verdict: Verdict) -> Received<'a> {
        let at = Timestamp::from_millis(1_771_668_000_123);
        Received {
            at,
            head,
            body,
            verdict,
            answer: &OK,
        }
    }

    #[test]
    fn a_request_is_shown_with_its_headers_and_body() {
        let head = head(&[
            ("x-webhook-event", "task.completed"),
            ("x-webhook-session", "s-1"),
            ("x-webhook-intent", "code_review"),
            ("x-webhook-retry", "2"),
            ("webhook-id", "dlv_1"),
        ]);
        let shown = block(
            &received(&head, br#"{"a":1}"#, Verdict::Genuine),
            Output::new(Format::People, true),
        );
        let expected = "10:00:00.123  task.completed  session s-1  intent code_review  retry 2  → 200\n  ✓ verified  dlv_1\n    {\n      \"a\": 1\n    }\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_response_of_the_program_is_shown() {
        let head = head(&[]);
        let answer = Answer::Forwarded(Answered {
            status: StatusCode::IM_A_TEAPOT,
            headers: HeaderMap::new(),
            body: "short and stout".into(),
            elapsed: Millis::new(12),
        });
        let received = Received {
            answer: &answer,
            ..received(&head, b"x", Verdict::Genuine)
        };
        let shown = block(&received, Output::new(Format::People, true));
        assert!(shown.contains("→ 418 forwarded, 12 ms\n"), "{shown}");
        assert!(
            shown.ends_with("  response\n    short and stout\n"),
            "{shown}"
        );
        let json = serde_json::to_value(line(&received)).unwrap();
        assert_eq!(json["forwarded"]["answer_body"], "short and stout");
    }

    #[test]
    fn json_has_the_body_unchanged() {
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
