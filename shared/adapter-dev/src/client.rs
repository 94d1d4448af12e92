//! The side of the functions.

use std::sync::Arc;
use std::time::Duration;

use postrider_ports::{Error, Result};
use postrider_store_format::Vault;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Serialize;
use url::Url;

use crate::pass::Pass;
use crate::server::{HELLO, Hello, PORTS};
use crate::wire::Wire;

/// Longer than anything on one machine takes, shorter than a function lives.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The store of a running `postrider dev`.
pub struct DevStore {
    pub(crate) line: Arc<DevConnection>,
    pub(crate) shards: u16,
    process: String,
}

impl DevStore {
    /// Connects to the `postrider dev` that printed this URL.
    ///
    /// # Errors
    /// When the URL is not one of those, or nobody answers there.
    pub async fn connect(url: &str) -> Result<Self> {
        let line = Arc::new(DevConnection::to(url)?);
        let hello: Hello = line.read(line.post(HELLO, Vec::new()).await?).await?;
        Ok(Self {
            line,
            shards: hello.shards,
            process: hello.process,
        })
    }

    /// The process for the owners of leases: the one that holds the store. Leases under any other name are void at
    /// once, as those of a process that is gone.
    #[must_use]
    pub fn process(&self) -> &str {
        &self.process
    }
}

/// The queue of a running `postrider dev`.
pub struct DevQueue {
    pub(crate) line: DevConnection,
}

impl DevQueue {
    /// Connects to the `postrider dev` that printed this URL.
    ///
    /// # Errors
    /// When the URL is not one of those.
    pub fn connect(url: &str) -> Result<Self> {
        Ok(Self {
            line: DevConnection::to(url)?,
        })
    }
}

/// An answer that can also be that there was none.
pub(crate) trait Answer: Wire {
    /// The answer to a call that failed on its way; `results` is how many were asked for.
    fn failed(error: &Error, results: usize) -> Self;
}

impl<T: Wire> Answer for Result<T> {
    fn failed(error: &Error, _: usize) -> Self {
        Err(error.clone())
    }
}

impl<T: Wire> Answer for Vec<Result<T>> {
    fn failed(error: &Error, results: usize) -> Self {
        (0..results).map(|_| Err(error.clone())).collect()
    }
}

/// The way to the other side.
pub(crate) struct DevConnection {
    client: reqwest::Client,
    origin: Url,
    vault: Vault,
}

impl DevConnection {
    fn to(url: &str) -> Result<Self> {
        let (origin, pass) = Pass::from_url(url)?;
        let bearer = HeaderValue::from_str(&pass.bearer())
            .map_err(|error| Error::Broken(error.to_string()))?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| Error::Broken(error.to_string()))?;
        Ok(Self {
            client,
            origin,
            vault: pass.vault()?,
        })
    }

    /// A call ready to be sent.
    pub(crate) fn pack<T: Serialize>(
        &self,
        asked: impl FnOnce(&Vault) -> Result<T>,
    ) -> Result<Vec<u8>> {
        serde_json::to_vec(&asked(&self.vault)?).map_err(|error| Error::Broken(error.to_string()))
    }

    /// Sends a call and brings the answer.
    pub(crate) async fn ask<A: Answer>(
        &self,
        verb: &str,
        asked: Result<Vec<u8>>,
        results: usize,
    ) -> A {
        let answered = async {
            let response = self.post(&format!("{PORTS}{verb}"), asked?).await?;
            A::unpack(self.read(response).await?, &self.vault)
        };
        answered
            .await
            .unwrap_or_else(|error| A::failed(&error, results))
    }

    async fn post(&self, path: &str, body: Vec<u8>) -> Result<reqwest::Response> {
        let url = self
            .origin
            .join(path)
            .map_err(|error| Error::Broken(error.to_string()))?;
        let sent = self.client.post(url).body(body).send().await;
        sent.map_err(unreachable)
    }

    async fn read<T: serde::de::DeserializeOwned>(&self, response: reqwest::Response) -> Result<T> {
        match response.status() {
            StatusCode::OK => {
                let bytes = response.bytes().await.map_err(unreachable)?;
                serde_json::from_slice(&bytes).map_err(|_| crate::wire::unfit("an answer"))
            }
            StatusCode::UNAUTHORIZED => Err(Error::Broken(
                "this is not the pass of the `postrider dev` that runs now: take the URL that it printed".to_owned(),
            )),
            status => Err(Error::Broken(format!(
                "`postrider dev` answered {status}: {}",
                response.text().await.unwrap_or_default()
            ))),
        }
    }
}

fn unreachable(error: reqwest::Error) -> Error {
    let error = error.without_url();
    Error::Unavailable(format!("`postrider dev` cannot be reached: {error}"))
}
