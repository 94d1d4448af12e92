//! Displays rejected requests.

use postrider_api_types::rejected::{FindingView, RejectedHeaderView, RejectedRequestDetail};

use crate::body::pretty_body;
use crate::output::{Output, Tone, plural, printable_line};
use crate::table::{Mark, Table, facts};
use crate::when::short_time;

const SHOWN_BODY_CHARS: usize = 4000;
const SHOWN_HEADER_CHARS: usize = 200;

/// A row per request, then each finding once, with advice.
pub(super) fn recent(requests: &[RejectedRequestDetail], source: &str, out: Output) -> String {
    let mut table = Table::new(["TIME", "REQUEST", "REASON"]);
    let mut found: Vec<&FindingView> = Vec::new();
    for request in requests {
        let rejected = &request.rejected;
        let at = short_time(rejected.at);
        table.row(
            Mark::Bad,
            [at, rejected.id.clone(), rejected.detail.clone()],
        );
        for finding in &request.findings {
            if !found.contains(&finding) {
                found.push(finding);
            }
        }
    }
    let table = table.show(out);
    if found.is_empty() {
        return table;
    }
    let lines = found.into_iter().map(|finding| {
        let which: Vec<&str> = requests
            .iter()
            .filter(|request| request.findings.contains(finding))
            .map(|request| request.rejected.id.as_str())
            .collect();
        let of = match which.as_slice() {
            [only] => (*only).to_owned(),
            several => format!("{} requests", several.len()),
        };
        format!("{}\n{}", out.paint(Tone::Strong, of), explained(finding))
    });
    let one =
        format!("To see one with its headers and body: postrider sources diagnose {source} rfd_…");
    format!(
        "{table}\n\n{}\n\n{one}",
        lines.collect::<Vec<_>>().join("\n")
    )
}

/// One request with all its details.
pub(super) fn one(detail: &RejectedRequestDetail, out: Output) -> String {
    let rejected = &detail.rejected;
    let query = detail.query.as_deref().map(|query| format!("?{query}"));
    let target = format!(
        "{} {}{}",
        rejected.method,
        rejected.path,
        query.unwrap_or_default()
    );
    let bytes = rejected.body_bytes;
    let known = facts(
        out,
        [
            ("rejected", Some(rejected.id.clone())),
            ("time", Some(short_time(rejected.at))),
            ("reason", Some(rejected.detail.clone())),
            ("request", Some(target)),
            ("type", rejected.content_type.clone()),
            ("body", Some(plural(bytes, "byte"))),
        ],
    );
    let mut parts = vec![known, findings(&detail.findings, out)];
    if !detail.headers.is_empty() {
        let headers: Vec<String> = detail.headers.iter().map(header).collect();
        parts.push(headers.join("\n"));
    }
    parts.extend(body(detail));
    if detail.is_cut {
        parts.push("Only part of the request was stored (at most 32 KiB).".to_owned());
    }
    parts.join("\n\n")
}

/// The findings with the gateway's advice.
pub(super) fn findings(findings: &[FindingView], out: Output) -> String {
    let lines: Vec<String> = findings.iter().map(explained).collect();
    format!(
        "{}\n{}",
        out.paint(Tone::Strong, "DIAGNOSIS"),
        lines.join("\n")
    )
}

/// How many were not stored.
pub(super) fn rest(counted: u64) -> Option<String> {
    (counted > 0).then(|| {
        let more = plural(counted, "more request");
        format!("{more} rejected but not stored: at most 10 per minute are stored.")
    })
}

fn explained(finding: &FindingView) -> String {
    let mut lines = format!("  {}", printable_line(&finding.text, usize::MAX));
    for advice in &finding.advice {
        lines.push_str("\n  → ");
        lines.push_str(&printable_line(advice, usize::MAX));
    }
    lines
}

fn header(RejectedHeaderView { name, value }: &RejectedHeaderView) -> String {
    let value = value.as_deref().unwrap_or("(hidden)");
    format!(
        "{}: {}",
        printable_line(name, SHOWN_HEADER_CHARS),
        printable_line(value, SHOWN_HEADER_CHARS)
    )
}

fn body(detail: &RejectedRequestDetail) -> Option<String> {
    match (&detail.body, &detail.body_base64) {
        (Some(text), _) if text.is_empty() => None,
        (Some(text), _) => Some(pretty_body(text.as_bytes(), SHOWN_BODY_CHARS)),
        (None, Some(_)) => Some("(binary body; use --json to see it as base64)".to_owned()),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Format;

    fn refused(id: &str, findings: &str) -> RejectedRequestDetail {
        let document = format!(
            r#"{{"id":"{id}","at":"2026-02-21T10:00:00Z","reason":"no_match","detail":"no signature matches",
                "method":"POST","path":"/gateway/webhooks/src_1","header_names":[],"content_type":null,"body_bytes":2,
                "query":"a=1","headers":[{{"name":"cookie","value":null}},{{"name":"x-a","value":"\u001b[2J"}}],
                "body":"{{}}","body_base64":null,"is_cut":false,"findings":[{findings}]}}"#
        );
        serde_json::from_str(&document).unwrap()
    }

    const OLD: &str = r#"{"kind":"old_secret","text":"signed with a secret that has expired","advice":["Rotate it: rotate-secret src_1"]}"#;
    const NEW: &str = r#"{"kind":"of_tomorrow","text":"something new"}"#;

    #[test]
    fn a_finding_that_several_requests_share_is_shown_once() {
        let out = Output::new(Format::People, true);
        let shown = recent(
            &[refused("rfd_1", OLD), refused("rfd_2", OLD)],
            "src_1",
            out,
        );
        assert_eq!(shown.matches("has expired").count(), 1, "{shown}");
        assert!(shown.contains("2 requests"), "{shown}");
        assert!(shown.contains("rotate-secret src_1"), "{shown}");
    }

    #[test]
    fn one_request_is_shown_with_its_content_and_without_control_characters() {
        let out = Output::new(Format::People, true);
        let shown = one(&refused("rfd_1", NEW), out);
        for part in ["?a=1", "cookie: (hidden)", "something new", "no signature"] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
}
