//! Reads the lists of another service's API.

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use serde::de::DeserializeOwned;
use url::Url;

use crate::edge;
use crate::failure::Failure;
use crate::transport::transport;

pub(super) struct Remote {
    http: reqwest::Client,
    base: Url,
    token: HeaderValue,
}

/// Whether the argument is the URL of an API rather than a file.
pub(super) fn is_url(source: &str) -> bool {
    source.starts_with("https://") || source.starts_with("http://")
}

/// Reads a document from a file.
pub(super) fn from_file<T: DeserializeOwned>(path: &str) -> Result<T, Failure> {
    let text = std::fs::read(path)
        .map_err(|error| Failure::Input(format!("cannot read {path}: {error}")))?;
    serde_json::from_slice(&text).map_err(|error| Failure::Input(format!("{path}: {error}")))
}

impl Remote {
    /// The API at this URL, with the key in this environment variable.
    pub(super) fn new(url: &str, variable: &str) -> Result<Self, Failure> {
        let base = Url::parse(url).map_err(|error| Failure::Input(format!("{url}: {error}")))?;
        let token = edge::setting(variable).filter(|text| !text.trim().is_empty());
        let token = token.ok_or_else(|| {
            Failure::Input(format!("set {variable} to a key of the API at {base}"))
        })?;
        let mut token = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
            .map_err(|_| Failure::Input(format!("{variable} contains invalid characters")))?;
        token.set_sensitive(true);
        let http = transport(&base).map_err(|error| Self::lost(&base, &error))?;
        Ok(Self { http, base, token })
    }

    /// Reads one document. The path is given as segments, so that an id cannot change it.
    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<T, Failure> {
        let mut url = self.base.clone();
        url.path_segments_mut()
            .map_err(|()| Failure::Input(format!("{} cannot be used as a base URL", self.base)))?
            .pop_if_empty()
            .extend(path);
        let request = self.http.get(url.clone()).query(query);
        let request = request.header(AUTHORIZATION, self.token.clone());
        let sent = request.header(ACCEPT, "application/json").send().await;
        let response = sent.map_err(|error| Self::lost(&url, &error))?;
        let status = response.status();
        let text = response.text().await;
        let text = text.map_err(|error| Self::lost(&url, &error))?;
        if !status.is_success() {
            let reason = format!("it answered {status}");
            let url = url.to_string();
            return Err(Failure::NoAnswer { url, reason });
        }
        serde_json::from_str(&text).map_err(|error| Failure::NoAnswer {
            url: url.to_string(),
            reason: format!("the answer is not understood: {error}"),
        })
    }

    fn lost(url: &Url, error: &reqwest::Error) -> Failure {
        Failure::NoAnswer {
            url: url.to_string(),
            reason: error.to_string(),
        }
    }
}
