//! Passes requests on to a program on this machine, and its answers back.

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use postrider_domain::time::Millis;
use url::Url;

use crate::client::{transport, why_unreachable};
use crate::edge;
use crate::failure::Failure;

/// More of an answer is nobody's need; the gateway keeps less.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Headers that belong to one connection (RFC 9110, 7.6.1), and those that the next one makes anew.
const OF_THE_CONNECTION: [HeaderName; 9] = [
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

/// Where requests are passed on to.
pub(super) struct Forward {
    to: Url,
    http: reqwest::Client,
}

/// What a program answered.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    pub(super) status: StatusCode,
    /// Those that say something about the body or the next attempt.
    pub(super) headers: HeaderMap,
    /// Its beginning.
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

    /// Passes one on: its method, headers and body as they came, its query behind that of the URL.
    pub(super) async fn pass_on(&self, head: &Parts, body: Bytes) -> Result<Answered, String> {
        let started_at = edge::now();
        let request = self
            .http
            .request(head.method.clone(), self.url(head.uri.query()))
            .headers(carried(&head.headers))
            .body(body);
        let mut response = request.send().await.map_err(|e| why_unreachable(&e))?;
        let (status, headers) = (response.status(), telling(response.headers()));
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

/// All but those of the connection, and those that the sender names as such.
fn carried(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(header::CONNECTION).into_iter();
    let named: Vec<String> = named
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let stays = |name: &HeaderName| {
        OF_THE_CONNECTION.contains(name) || named.iter().any(|other| other == name.as_str())
    };
    let mut carried = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers.iter().filter(|(name, _)| !stays(name)) {
        carried.append(name.clone(), value.clone());
    }
    // Else the client would add one of its own.
    carried
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("*/*"));
    carried
}

fn telling(headers: &HeaderMap) -> HeaderMap {
    let kept = [header::CONTENT_TYPE, header::RETRY_AFTER];
    kept.into_iter()
        .filter_map(|name| headers.get(&name).cloned().map(|value| (name, value)))
        .collect()
}

/// Where to, as people write it: a URL, a host with a port and a path, or a port of this machine.
pub(super) fn destination(text: &str) -> Result<Url, String> {
    let url = match text.parse::<u16>() {
        Ok(port) => format!("http://127.0.0.1:{port}/"),
        Err(_) if text.contains("://") => text.to_owned(),
        Err(_) => format!("http://{text}"),
    };
    let refused = "must be an http or https URL, such as http://localhost:3000/hook, or a port";
    let url = Url::parse(&url).map_err(|_| refused.to_owned())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    is_web.then_some(url).ok_or_else(|| refused.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_read_as_people_write_it() {
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
    fn headers_are_carried_but_for_those_of_the_connection() {
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
        let carried = carried(&headers);
        let mut names: Vec<&str> = carried.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "content-type", "webhook-id", "x-two"]);
        assert_eq!(carried.get_all("x-two").iter().count(), 2);
    }

    #[test]
    fn a_query_goes_behind_that_of_the_destination() {
        let forward = |to| Forward::new(destination(to).unwrap()).unwrap();
        assert_eq!(forward("h/x").url(Some("a=1")).as_str(), "http://h/x?a=1");
        assert_eq!(forward("h/x?b=2").url(Some("a=1")).query(), Some("b=2&a=1"));
        assert_eq!(forward("h/x?b=2").url(None).query(), Some("b=2"));
    }
}
