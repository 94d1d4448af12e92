//! Parses a captured request from a file.

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use postrider_domain::inbound::Inbound;

use crate::failure::Failure;

/// An optional request line, header lines, an empty line, the body. Lines may end in CRLF or LF, because editors
/// convert them.
pub(super) fn parse(bytes: &[u8]) -> Result<Inbound, Failure> {
    let mut inbound = Inbound {
        method: Method::POST,
        ..Inbound::default()
    };
    let mut headers = HeaderMap::new();
    let mut rest = bytes;
    for number in 1_usize.. {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, behind) = match end {
            Some(end) => (rest.get(..end), rest.get(end + 1..)),
            None => (Some(rest), None),
        };
        let line = String::from_utf8_lossy(line.unwrap_or_default());
        let line = line.trim_end_matches('\r');
        rest = behind.unwrap_or_default();
        if line.is_empty() {
            break;
        }
        if number == 1 && read_request_line(line, &mut inbound) {
            continue;
        }
        let (name, value) = header(line).ok_or_else(|| {
            Failure::Input(format!(
                "line {number} of the --request file is not a header of the form `Name: value`"
            ))
        })?;
        headers.append(name, value);
    }
    inbound.headers = headers;
    inbound.body = rest.to_vec().into();
    Ok(inbound)
}

fn read_request_line(line: &str, inbound: &mut Inbound) -> bool {
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return false;
    };
    let (Ok(method), true) = (method.parse(), version.starts_with("HTTP/")) else {
        return false;
    };
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    inbound.method = method;
    inbound.path = path.to_owned();
    inbound.query = query;
    true
}

fn header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let name = HeaderName::try_from(name.trim()).ok()?;
    Some((name, HeaderValue::from_str(value.trim()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_parsed_with_its_body_byte_for_byte() {
        let captured = b"POST /in?a=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-A: 2\r\n\r\n{ }\r\n\n";
        let inbound = parse(captured).unwrap();
        assert_eq!(
            (inbound.path.as_str(), inbound.query.as_deref()),
            ("/in", Some("a=1"))
        );
        assert_eq!(inbound.headers.get_all("x-a").iter().count(), 2);
        assert_eq!(inbound.body.as_ref(), b"{ }\r\n\n");
        let bare = parse(b"X-A: 1\n\nx").unwrap();
        assert_eq!((bare.method, bare.body.as_ref()), (Method::POST, &b"x"[..]));
        assert!(parse(b"").unwrap().body.is_empty());
        assert!(
            matches!(parse(b"{\"a\": 1}\n"), Err(Failure::Input(said)) if said.contains("line 1"))
        );
    }
}
