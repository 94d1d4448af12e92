//! Guesses what the received body was before something in transit rewrote it.

use bytes::Bytes;
use data_encoding::BASE64;
use serde_json::Value;

use super::BodyChange;

const MARK: &[u8] = b"\xef\xbb\xbf";

/// The bodies to try: those that differ from the received one.
pub(super) fn changed(body: &Bytes) -> Vec<(BodyChange, Bytes)> {
    let mut found = line_ends(body);
    found.extend(json(body));
    found.extend(
        BASE64
            .decode(body)
            .ok()
            .map(|decoded| (BodyChange::Base64Decoded, decoded)),
    );
    found.push((BodyChange::Empty, Vec::new()));
    let changed = found.into_iter().filter(|(_, other)| other != body);
    changed
        .map(|(change, other)| (change, Bytes::from(other)))
        .collect()
}

fn line_ends(body: &[u8]) -> Vec<(BodyChange, Vec<u8>)> {
    let cut = body
        .strip_suffix(b"\r\n")
        .or_else(|| body.strip_suffix(b"\n"))
        .unwrap_or(body);
    let plain = without_returns(body);
    vec![
        (BodyChange::NewlineCut, cut.to_vec()),
        (BodyChange::NewlineAdded, [body, b"\n"].concat()),
        (BodyChange::CrlfAdded, with_returns(&plain)),
        (BodyChange::CrlfCut, plain),
        (
            BodyChange::MarkCut,
            body.strip_prefix(MARK).unwrap_or(body).to_vec(),
        ),
    ]
}

fn without_returns(body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(body.len());
    let mut bytes = body.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\r' || bytes.peek() != Some(&b'\n') {
            plain.push(byte);
        }
    }
    plain
}

fn with_returns(plain: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(plain.len());
    for byte in plain {
        if *byte == b'\n' {
            lines.push(b'\r');
        }
        lines.push(*byte);
    }
    lines
}

fn json(body: &[u8]) -> Vec<(BodyChange, Vec<u8>)> {
    // `Value` sorts object keys.
    let Ok(sorted) = serde_json::from_slice::<Value>(body) else {
        return Vec::new();
    };
    let sorted = sorted.to_string().into_bytes();
    vec![
        (BodyChange::Compact, respaced(body, Spaces::None)),
        (BodyChange::Spaced, respaced(body, Spaces::AfterMarks)),
        (
            BodyChange::SortedSpaced,
            respaced(&sorted, Spaces::AfterMarks),
        ),
        (BodyChange::Sorted, sorted),
    ]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spaces {
    None,
    AfterMarks,
}

/// Changes only the whitespace; order, numbers and escapes stay.
fn respaced(json: &[u8], spaces: Spaces) -> Vec<u8> {
    let mut written = Vec::with_capacity(json.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in json.iter().copied() {
        if in_string {
            written.push(byte);
            in_string = is_escaped || byte != b'"';
            is_escaped = byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b',' | b':' if spaces == Spaces::AfterMarks => written.extend([byte, b' ']),
            _ => {
                in_string = byte == b'"';
                written.push(byte);
            }
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(body: &'static str) -> Vec<(BodyChange, String)> {
        let changed = changed(&Bytes::from_static(body.as_bytes())).into_iter();
        changed
            .map(|(change, body)| (change, String::from_utf8_lossy(&body).into_owned()))
            .collect()
    }

    #[test]
    fn json_is_formatted_as_common_libraries_do() {
        let found = all(r#"{"b": 1.50,"a":["x, \" y\": z\\" ] }"#);
        for (change, text) in [
            (BodyChange::Compact, r#"{"b":1.50,"a":["x, \" y\": z\\"]}"#),
            (
                BodyChange::Spaced,
                r#"{"b": 1.50, "a": ["x, \" y\": z\\"]}"#,
            ),
            (BodyChange::Sorted, r#"{"a":["x, \" y\": z\\"],"b":1.5}"#),
            (
                BodyChange::SortedSpaced,
                r#"{"a": ["x, \" y\": z\\"], "b": 1.5}"#,
            ),
        ] {
            assert!(
                found.contains(&(change, text.to_owned())),
                "{change:?}: {found:?}"
            );
        }
    }

    #[test]
    fn line_endings_marks_and_encodings_are_tried() {
        let found = all("a\r\nb\n");
        for (change, text) in [
            (BodyChange::NewlineCut, "a\r\nb"),
            (BodyChange::NewlineAdded, "a\r\nb\n\n"),
            (BodyChange::CrlfAdded, "a\r\nb\r\n"),
            (BodyChange::CrlfCut, "a\nb\n"),
            (BodyChange::Empty, ""),
        ] {
            assert!(
                found.contains(&(change, text.to_owned())),
                "{change:?}: {found:?}"
            );
        }
        assert!(all("aGk=").contains(&(BodyChange::Base64Decoded, "hi".to_owned())));
        assert!(all("\u{feff}x").contains(&(BodyChange::MarkCut, "x".to_owned())));
    }

    proptest! {
        #[test]
        fn reformatting_keeps_the_same_json(text in r#"[\[\]{}",:a\\0-9 ]{0,40}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                for (_, changed) in json(text.as_bytes()) {
                    prop_assert_eq!(serde_json::from_slice::<Value>(&changed).unwrap(), value.clone());
                }
            }
        }

        #[test]
        fn no_body_causes_a_panic(bytes: Vec<u8>) {
            let _ = changed(&Bytes::from(bytes));
        }
    }
}
