//! Displays both responses side by side, and how they differ.

use postrider_api_types::Word;
use postrider_api_types::delivery::{ReplyView, TimingsView};
use postrider_api_types::shadow::ShadowView;
use postrider_domain::outcome::Phase;

use crate::body::pretty_body;
use crate::output::{Output, Tone, printable_line};
use crate::table::{Mark, Table, facts};
use crate::when::short_time;

/// The gateway stores no more of a response than this.
const SHOWN_BODY_CHARS: usize = 2048;

/// Whether the other URL responded with 2xx.
pub(super) const fn is_success(shadowed: &ShadowView) -> bool {
    matches!(shadowed.shadow.reply.status_code, Some(200..=299))
}

/// The response of the other URL next to that of the last attempt.
pub(super) fn describe(shadowed: &ShadowView, out: Output) -> String {
    let mark = if is_success(shadowed) {
        Mark::Good
    } else {
        Mark::Bad
    };
    let headline = format!(
        "{} {}  {}",
        mark.show(out),
        answer(shadowed.shadow.reply.status_code),
        printable_line(&shadowed.request.url, 200)
    );
    let mut parts = vec![headline, sides(shadowed, out)];
    if shadowed.last_attempt.is_some() {
        let compared = shadowed.comparison.iter();
        let lines: Vec<_> = compared
            .map(|one| {
                (
                    one.aspect.as_str().replace('_', " "),
                    format!("{}: {}", one.result, one.detail),
                )
            })
            .collect();
        let lines = lines
            .iter()
            .map(|(what, how)| (what.as_str(), Some(how.clone())));
        parts.push(facts(out, lines));
    } else {
        parts.push(
            "The delivery has not been attempted yet, so there is no response to compare with."
                .to_owned(),
        );
    }
    let last = shadowed.last_attempt.as_ref();
    for (heading, body) in [
        (
            "RESPONSE OF THE OTHER URL",
            &shadowed.shadow.reply.response_body,
        ),
        (
            "RESPONSE OF THE LAST ATTEMPT",
            &last.and_then(|last| last.reply.response_body.clone()),
        ),
    ] {
        if let Some(body) = body.as_deref().filter(|body| !body.is_empty()) {
            let body = pretty_body(body.as_bytes(), SHOWN_BODY_CHARS);
            parts.push(format!("{}\n{body}", out.paint(Tone::Strong, heading)));
        }
    }
    if !shadowed.request.headers_left_out.is_empty() {
        let names = shadowed.request.headers_left_out.join(", ");
        let names = printable_line(&names, 500);
        parts.push(format!(
            "Not sent, because they are meant for the webhook's URL: {names} (use --include-headers to send them)"
        ));
    }
    parts.join("\n\n")
}

fn phases(timings: &TimingsView) -> String {
    let phases = timings.phases().into_iter();
    let phases: Vec<String> = phases.map(|(phase, ms)| format!("{phase} {ms}")).collect();
    phases.join(", ")
}

fn answer(status: Option<u16>) -> String {
    status.map_or_else(|| "no response".to_owned(), |status| status.to_string())
}

fn sides(shadowed: &ShadowView, out: Output) -> String {
    let here = &shadowed.shadow.reply;
    let content_type = &shadowed.shadow.content_type;
    let last = shadowed.last_attempt.as_ref();
    let there = last.map(|attempt| &attempt.reply);
    let ms = |ms: u32| format!("{ms} ms");
    let phase =
        |phase: &Option<Word<Phase>>| phase.as_ref().map_or_else(String::new, Word::to_string);
    let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
    let of_last = |show: &dyn Fn(&ReplyView) -> String| there.map(show).unwrap_or_default();
    let heading = last.map_or_else(
        || "NO ATTEMPT YET".to_owned(),
        |last| format!("LAST ATTEMPT, #{}", last.number),
    );
    let mut table = Table::new(["", "OTHER URL", &heading]);
    for (what, here, there) in [
        (
            "time",
            short_time(here.at),
            of_last(&|last| short_time(last.at)),
        ),
        (
            "status",
            answer(here.status_code),
            of_last(&|last| answer(last.status_code)),
        ),
        (
            "elapsed",
            ms(here.elapsed_ms),
            of_last(&|last| ms(last.elapsed_ms)),
        ),
        (
            "phases (ms)",
            phases(&here.timings),
            of_last(&|last| phases(&last.timings)),
        ),
        (
            "failed in",
            phase(&here.phase),
            of_last(&|last| phase(&last.phase)),
        ),
        (
            "error",
            or_none(&here.error),
            of_last(&|last| or_none(&last.error)),
        ),
        ("content type", or_none(content_type), String::new()),
    ] {
        if !here.is_empty() || !there.is_empty() {
            table.row(Mark::None, [what.to_owned(), here, there]);
        }
    }
    table.show(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    const ANSWERED: &str = r#"{"request":{"url":"https://staging.example/","headers":{},"headers_left_out":["x-team"],"body_bytes":2},
        "shadow":{"at":"2026-02-21T10:00:00Z","status_code":200,"elapsed_ms":12,"error":null,"phase":null,
            "content_type":"text/plain","response_body":"\u001b[31mfine","timings":{"connect_ms":1,"first_byte_ms":9}},
        "last_attempt":{"number":3,"at":"2026-02-21T09:00:00Z","status_code":500,"elapsed_ms":9,"error":"HTTP status 500",
            "phase":null,"response_body":"oops","timings":{}},
        "comparison":[{"aspect":"status","result":"different","detail":"200 here, 500 on the last attempt"},
            {"aspect":"content_type","result":"unknown","detail":"text/plain here"}]}"#;

    #[test]
    fn both_responses_are_shown_side_by_side_with_their_differences() {
        let shadowed: ShadowView = serde_json::from_str(ANSWERED).unwrap();
        let shown = describe(&shadowed, Output::new(Format::People, true));
        for part in [
            "✓ 200  https://staging.example/",
            "LAST ATTEMPT, #3",
            "connect 1, first byte 9",
            "different: 200 here, 500 on the last attempt",
            "content type",
            "RESPONSE OF THE OTHER URL\n\\u{1b}[31mfine",
            "RESPONSE OF THE LAST ATTEMPT\noops",
            "x-team",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(
            !shown.contains('\u{1b}') && !shown.contains("failed in"),
            "{shown}"
        );
    }

    #[test]
    fn without_an_attempt_there_is_no_comparison() {
        let mut shadowed: ShadowView = serde_json::from_str(ANSWERED).unwrap();
        shadowed.last_attempt = None;
        shadowed.comparison.clear();
        shadowed.shadow.reply.status_code = None;
        let shown = describe(&shadowed, Output::new(Format::People, true));
        assert!(
            shown.contains("✗ no response") && shown.contains("NO ATTEMPT YET"),
            "{shown}"
        );
        assert!(shown.contains("no response to compare with"), "{shown}");
    }
}
