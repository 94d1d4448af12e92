//! Form bodies, read as bytes: two bodies differ if any byte of their fields does.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use percent_encoding::percent_decode;

/// Maximum number of fields in a signed form; providers send far fewer.
const MAX_FIELDS: usize = 1000;
const FORM: &str = "application/x-www-form-urlencoded";

pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let content_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = content_type.map(|text| text.split(';').next().unwrap_or_default().trim());
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(FORM))
}

/// The fields of a form or query, in order.
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

/// The first field with this name, if it is UTF-8.
pub(crate) fn field(form: &[u8], wanted: &str) -> Option<String> {
    let mut found = fields(form).take(MAX_FIELDS);
    let (_, value) = found.find(|(name, _)| name == wanted.as_bytes())?;
    String::from_utf8(value).ok()
}

/// Names and values concatenated, sorted by both and deduplicated; `None` if there are too many.
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
            "bytes that are not UTF-8 differ as well"
        );
        let too_many: Vec<u8> = b"a=1&".repeat(MAX_FIELDS + 1);
        assert_eq!(sorted(&too_many), None);
        assert!(sorted(&too_many[4..]).is_some());
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
