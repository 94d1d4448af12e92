//! HTTP client of the gateway's API.

use std::error::Error;
use std::path::PathBuf;

use http::header::{AUTHORIZATION, DATE};
use http::{HeaderValue, Method, StatusCode};
use reqwest::{RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::{Host, Url};

use crate::args::GatewayArgs;
use crate::failure::Failure;
use crate::hidden::Hidden;
use crate::output::Output;
use crate::problem::Problem;
use crate::transport::transport;

/// The file in the data directory with the first key.
pub(crate) const TOKEN_FILE: &str = "admin-token";

/// The token and its origin. A token found on this machine is sent only to a gateway on this machine.
#[derive(Debug)]
pub(crate) enum Token {
    /// From `--token` or `POSTRIDER_TOKEN`.
    Given(Hidden),
    /// From a file in the data directory.
    Found(Hidden, PathBuf),
    /// Not found; with the path that was checked.
    Missing(Option<PathBuf>),
}

impl Token {
    fn look_up(gateway: &GatewayArgs) -> Self {
        if let Some(token) = gateway
            .token
            .as_ref()
            .filter(|token| !token.expose().is_empty())
        {
            return Self::Given(token.clone());
        }
        if !is_loopback(&gateway.url) {
            return Self::Missing(None);
        }
        let path = gateway.data.join(TOKEN_FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => Self::Found(text.trim().to_owned().into(), path),
            Ok(_) | Err(_) => Self::Missing(Some(path)),
        }
    }

    fn header(&self) -> Result<Option<HeaderValue>, Failure> {
        let token = match self {
            Self::Given(token) | Self::Found(token, _) => token,
            Self::Missing(_) => return Ok(None),
        };
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose().trim()))
            .map_err(|_| Failure::Input("the token contains invalid characters".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// What to do when the gateway rejects it.
    fn advice(&self) -> String {
        match self {
            Self::Given(_) => {
                "the token from --token or POSTRIDER_TOKEN is not a key of this gateway".to_owned()
            }
            Self::Found(_, path) => {
                format!(
                    "the token in {} is not a key of this gateway; set --token or POSTRIDER_TOKEN",
                    path.display()
                )
            }
            Self::Missing(Some(path)) => format!(
                "no token: set --token or POSTRIDER_TOKEN, or point --data to the gateway's data directory \
                 (looked for {})",
                path.display()
            ),
            Self::Missing(None) => "no token: set --token or POSTRIDER_TOKEN".to_owned(),
        }
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    token: Token,
}

/// A successful response.
pub(crate) struct Answer {
    pub(crate) date: Option<String>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        read(&self.text)
    }
}

/// Parses a response or a part of one.
pub(crate) fn read<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| Failure::NotUnderstood(error.to_string()))
}

impl Client {
    pub(crate) fn new(gateway: &GatewayArgs) -> Result<Self, Failure> {
        let base = gateway.url.clone();
        let http = transport(&base).map_err(|error| unreachable(&base, &error))?;
        Ok(Self {
            http,
            base,
            token: Token::look_up(gateway),
        })
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Says so if anyone on the way to the gateway could read what is sent.
    pub(crate) fn warn_unless_private(&self, out: Output) {
        if self.base.scheme() != "https" && !is_loopback(&self.base) {
            out.note("The connection is not encrypted: others on the network can read the secrets. Use an https URL.");
        }
    }

    pub(crate) fn token(&self) -> &Token {
        &self.token
    }

    /// A request to a path, given as segments so that an id cannot change the path.
    pub(crate) fn request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder, Failure> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| {
                Failure::Input("the gateway's URL cannot be used as a base URL".to_owned())
            })?
            .pop_if_empty()
            .extend(path);
        let request = self.http.request(method, url);
        Ok(match self.token.header()? {
            Some(token) => request.header(AUTHORIZATION, token),
            None => request,
        })
    }

    /// Sends a request and returns the response with its body unread; anything but success is a failure.
    pub(crate) async fn open(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.lost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.map_err(|error| self.lost(&error))?;
        let problem = Box::new(Problem::read(status, &text));
        if status.is_client_error() {
            let advice = (status == StatusCode::UNAUTHORIZED).then(|| self.token.advice());
            return Err(Failure::Rejected { problem, advice });
        }
        Err(Failure::ServerError(problem))
    }

    /// Sends a request and reads the response; anything but success is a failure.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let response = self.open(request).await?;
        let date = response
            .headers()
            .get(DATE)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned);
        let text = response.text().await.map_err(|error| self.lost(&error))?;
        Ok(Answer { date, text })
    }

    pub(crate) fn lost(&self, error: &reqwest::Error) -> Failure {
        unreachable(&self.base, error)
    }

    pub(crate) async fn get(&self, path: &[&str]) -> Result<Answer, Failure> {
        self.send(self.request(Method::GET, path)?).await
    }

    pub(crate) async fn post(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Answer, Failure> {
        self.send(self.request(Method::POST, path)?.json(body))
            .await
    }

    pub(crate) async fn post_empty(&self, path: &[&str]) -> Result<Answer, Failure> {
        self.send(self.request(Method::POST, path)?).await
    }

    pub(crate) async fn put(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Answer, Failure> {
        self.send(self.request(Method::PUT, path)?.json(body)).await
    }

    pub(crate) async fn patch(
        &self,
        path: &[&str],
        body: &impl Serialize,
    ) -> Result<Answer, Failure> {
        self.send(self.request(Method::PATCH, path)?.json(body))
            .await
    }

    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Answer, Failure> {
        self.send(self.request(Method::DELETE, path)?).await
    }
}

fn unreachable(base: &Url, error: &reqwest::Error) -> Failure {
    Failure::Unreachable {
        url: base.to_string(),
        reason: why_unreachable(error),
    }
}

/// The innermost cause, which is the only informative one.
pub(crate) fn why_unreachable(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let mut innermost: &dyn Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    let reason = innermost.to_string();
    // What rustls reports when the other side responds in plain HTTP.
    if reason.contains("InvalidContentType") {
        return "no TLS there: use http://".to_owned();
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gateway(url: &str, token: Option<&str>, data: PathBuf) -> GatewayArgs {
        GatewayArgs {
            url: url.parse().unwrap(),
            token: token.map(|text| text.parse().unwrap()),
            data,
        }
    }

    #[test]
    fn a_token_found_on_this_machine_is_sent_only_to_this_machine() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(TOKEN_FILE), "canary\n").unwrap();
        let look_up =
            |url, token| Token::look_up(&gateway(url, token, directory.path().to_owned()));
        for here in [
            "http://127.0.0.1:8080",
            "http://localhost:1",
            "http://[::1]:8080",
            "http://127.9.9.9",
        ] {
            assert!(
                matches!(look_up(here, None), Token::Found(token, _) if token.expose() == "canary"),
                "{here}"
            );
        }
        for away in [
            "https://example.com",
            "http://127.0.0.1.example.com",
            "http://10.0.0.1",
            "http://localhost.a",
        ] {
            assert!(
                matches!(look_up(away, None), Token::Missing(None)),
                "{away}"
            );
        }
        assert!(
            matches!(look_up("http://127.0.0.1", Some("mine")), Token::Given(token) if token.expose() == "mine")
        );
        assert!(
            matches!(look_up("http://127.0.0.1", Some("")), Token::Found(..)),
            "an empty variable is unset"
        );
    }

    #[test]
    fn an_id_cannot_change_the_path() {
        let base = "https://example.com/stage/";
        let client = Client::new(&gateway(base, Some("t"), PathBuf::new())).unwrap();
        let url = |id| {
            client
                .request(Method::GET, &["v1", "webhooks", id])
                .unwrap()
                .build()
                .unwrap()
                .url()
                .to_string()
        };
        assert_eq!(url("wh_1"), "https://example.com/stage/v1/webhooks/wh_1");
        assert_eq!(
            url("../keys?x=1"),
            "https://example.com/stage/v1/webhooks/..%2Fkeys%3Fx=1"
        );
    }

    #[test]
    fn a_token_is_never_shown() {
        let client = Client::new(&gateway(
            "https://example.com",
            Some("canary"),
            PathBuf::new(),
        ))
        .unwrap();
        let request = client
            .request(Method::GET, &["v1"])
            .unwrap()
            .build()
            .unwrap();
        assert!(
            !format!("{request:?} {:?} {}", client.token, client.token.advice()).contains("canary")
        );
    }
}
