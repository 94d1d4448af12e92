//! Forwards requests to a program on this machine, and returns its responses.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use postrider_domain::time::Millis;
use url::Url;

use crate::client::why_unreachable;
use crate::edge;
use crate::failure::Failure;
use crate::transport::transport;

/// How much of a response is read; the gateway stores less.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Headers that belong to one connection (RFC 9110, 7.6.1), and those that the HTTP client sets itself.
const CONNECTION_HEADERS: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::HOST,
    header::CONTENT_LENGTH,
];

pub(super) struct Forward {
    to: Url,
    http: reqwest::Client,
}

/// The response of the program.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    /// Only those about the body or the next attempt.
    pub(super) headers: HeaderMap,
    /// The first `MAX_ANSWER_BYTES` of it.
    pub(super) body: Bytes,
    pub(super) elapsed: Millis,
}

impl Forward {
    pub(super) fn new(to: Url) -> Result<Self, Failure> {
        let http = transport(&to).map_err(|error| Failure::NoAnswer {
            url: to.to_string(),
            reason: why_unreachable(&error),
        })?;
        Ok(Self { to, http })
    }

    pub(super) fn to(&self) -> &Url {
        &self.to
    }

    /// Forwards a request with its method, headers and body unchanged, and its query appended to that of the URL.
    pub(super) async fn pass_on(&self, head: &Parts, body: Bytes) -> Result<Answered, String> {
        let started_at = edge::now();
        let request = self
            .http
            .request(head.method.clone(), self.url(head.uri.query()))
            .headers(forwarded(&head.headers))
            .body(body);
        let mut response = request.send().await.map_err(|e| why_unreachable(&e))?;
        let (status, headers) = (response.status(), returned(response.headers()));
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| why_unreachable(&e))? {
            let room = MAX_ANSWER_BYTES.saturating_sub(answer.len());
            answer.extend(chunk.iter().take(room));
            if chunk.len() >= room {
                break;
            }
        }
        Ok(Answered {
            status,
            headers,
            body: answer.into(),
            elapsed: edge::now().since(started_at),
        })
    }

    fn url(&self, query: Option<&str>) -> Url {
        let mut url = self.to.clone();
        if let Some(query) = query {
            let joined = match self.to.query() {
                Some(own) => format!("{own}&{query}"),
                None => query.to_owned(),
            };
            url.set_query(Some(&joined));
        }
        url
    }
}

/// All headers except those of the connection, including those that the sender names in `Connection`.
fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).into_iter();
    let named: Vec<String> = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_dropped = |name: &HeaderName| {
        CONNECTION_HEADERS.contains(name) || named.iter().any(|other| other == name.as_str())
    };
    let mut forwarded = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter().filter(|(name, _)| !is_dropped(name)) {
        forwarded.append(name.clone(), value.clone());
    }
    // Otherwise the HTTP client would add its own.
    forwarded
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("*/*"));
    forwarded
}

fn returned(headers: &HeaderMap) -> HeaderMap {
    let kept = [header::CONTENT_TYPE, header::RETRY_AFTER];
    kept.into_iter()
        .filter_map(|name| headers.get(&name).cloned().map(|value| (name, value)))
        .collect()
}

/// Parses a destination: a URL, a host with a port and a path, or a port of this machine.
pub(super) fn destination(text: &str) -> Result<Url, String> {
    let url = match text.parse::<u16>() {
        Ok(port) => format!("http://127.0.0.1:{port}/"),
        Err(_) if text.contains("://") => text.to_owned(),
        Err(_) => format!("http://{text}"),
    };
    let invalid = "must be an http or https URL, such as http://localhost:3000/hook, or a port";
    let url = Url::parse(&url).map_err(|_| invalid.to_owned())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    is_web.then_some(url).ok_or_else(|| invalid.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_a_url_a_host_or_a_port() {
        for (text, url) in [
            ("http://localhost:3000/hook", "http://localhost:3000/hook"),
            ("localhost:3000/hook", "http://localhost:3000/hook"),
            ("3000", "http://127.0.0.1:3000/"),
            ("https://example.com", "https://example.com/"),
        ] {
            assert_eq!(destination(text).unwrap().as_str(), url);
        }
        for bad in ["", "ftp://h/", "http://", "70000:x:y"] {
            assert!(destination(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_are_forwarded_except_those_of_the_connection() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "h"),
            ("content-length", "3"),
            ("connection", "close, X-Own"),
            ("x-own", "1"),
            ("webhook-id", "dlv_1"),
            ("x-two", "1"),
            ("x-two", "2"),
            ("content-type", "application/json"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let forwarded = forwarded(&headers);
        let mut names: Vec<&str> = forwarded.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "content-type", "webhook-id", "x-two"]);
        assert_eq!(forwarded.get_all("x-two").iter().count(), 2);
    }

    #[test]
    fn a_query_is_appended_to_that_of_the_destination() {
        let forward = |to| Forward::new(destination(to).unwrap()).unwrap();
        assert_eq!(forward("h/x").url(Some("a=1")).as_str(), "http://h/x?a=1");
        assert_eq!(forward("h/x?b=2").url(Some("a=1")).query(), Some("b=2&a=1"));
        assert_eq!(forward("h/x?b=2").url(None).query(), Some("b=2"));
    }
}
