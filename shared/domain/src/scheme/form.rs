//! Bodies that are forms, read as bytes, so that two bodies differ if any byte of their fields does.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use percent_encoding::percent_decode;

/// The most fields of a form that is signed; more is no provider's.
const MAX_FIELDS: usize = 1000;
const FORM: &str = "application/x-www-form-urlencoded";

/// Whether the body is said to be a form.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let said = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = said.map(|text| text.split(';').next().unwrap_or_default().trim());
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(FORM))
}

/// The fields of a form or query in their order.
pub(crate) fn fields(form: &[u8]) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let pairs = form
        .split(|byte| *byte == b'&')
        .filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let name = decode(halves.next().unwrap_or_default());
        (name, decode(halves.next().unwrap_or_default()))
    })
}

/// The first field of this name, as text.
pub(crate) fn field(form: &[u8], wanted: &str) -> Option<String> {
    let mut found = fields(form).take(MAX_FIELDS);
    let (_, value) = found.find(|(name, _)| name == wanted.as_bytes())?;
    String::from_utf8(value).ok()
}

/// Names and values in a row, sorted by both, equal ones once; nothing if there are too many.
pub(crate) fn sorted(form: &[u8]) -> Option<Vec<u8>> {
    let mut found: Vec<_> = fields(form).take(MAX_FIELDS + 1).collect();
    if found.len() > MAX_FIELDS {
        return None;
    }
    found.sort_unstable();
    found.dedup();
    Some(
        found
            .into_iter()
            .flat_map(|(name, value)| [name, value])
            .flatten()
            .collect(),
    )
}

fn decode(part: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = part
        .iter()
        .map(|byte| if *byte == b'+' { b' ' } else { *byte })
        .collect();
    percent_decode(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_sorted_and_equal_ones_count_once() {
        let form = b"b=2&a=%2B1+x&b=1&&b=2&c";
        assert_eq!(sorted(form).unwrap(), b"a+1 xb1b2c");
        assert_eq!(sorted(b"").unwrap(), b"");
        assert_ne!(
            sorted(b"a=%ff"),
            sorted(b"a=%fe"),
            "bytes that are no text differ, too"
        );
        let endless: Vec<u8> = b"a=1&".repeat(MAX_FIELDS + 1);
        assert_eq!(sorted(&endless), None);
        assert!(sorted(&endless[4..]).is_some());
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        assert_eq!(
            field(b"a=1&command=%2Fweather&command=x", "command").as_deref(),
            Some("/weather")
        );
        assert_eq!(field(b"command=%ff", "command"), None);
        assert_eq!(field(b"", "command"), None);
    }
}
