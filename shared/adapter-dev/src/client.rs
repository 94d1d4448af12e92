//! The client, used by functions.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use postrider_ports::{Error, Result};
use postrider_store_format::Vault;
use reqwest::StatusCode;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde::Serialize;
use url::Url;

use crate::pass::Pass;
use crate::server::{HELLO, Hello, PORTS};
use crate::wire::Wire;

/// Longer than any call on one machine takes, shorter than a function's timeout.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The store of a running `postrider dev`.
pub struct DevStore {
    pub(crate) connection: Arc<DevConnection>,
    pub(crate) shards: u16,
    process: String,
}

impl DevStore {
    /// Connects to the `postrider dev` that printed this URL.
    ///
    /// # Errors
    /// If the URL has another form, or nothing answers there.
    pub async fn connect(url: &str) -> Result<Self> {
        let connection = Arc::new(DevConnection::to(url)?);
        let hello: Hello = connection.read(HELLO, Vec::new()).await?;
        Ok(Self {
            connection,
            shards: hello.shards,
            process: hello.process,
        })
    }

    /// A store that is reached in another way than over HTTP, with a server that has the same pass.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn over(transport: Box<dyn DevTransport>, pass: &Pass) -> Result<Self> {
        let vault = pass.vault()?;
        let connection = DevConnection { transport, vault };
        let hello: Hello = connection.read(HELLO, Vec::new()).await?;
        Ok(Self {
            connection: Arc::new(connection),
            shards: hello.shards,
            process: hello.process,
        })
    }

    /// The process to use as the owner of leases: the one that holds the store. A lease in any other name is void
    /// immediately, like that of a process that is gone.
    #[must_use]
    pub fn process(&self) -> &str {
        &self.process
    }
}

/// The queue of a running `postrider dev`.
pub struct DevQueue {
    pub(crate) connection: DevConnection,
}

impl DevQueue {
    /// Connects to the `postrider dev` that printed this URL.
    ///
    /// # Errors
    /// If the URL has another form.
    pub fn connect(url: &str) -> Result<Self> {
        Ok(Self {
            connection: DevConnection::to(url)?,
        })
    }
}

/// An answer that can also represent a failed call.
pub(crate) trait Answer: Wire {
    /// The answer to a call that failed in transit; `results` is how many results it should have.
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

/// Carries calls to where the ports are, and their answers back.
#[async_trait]
pub trait DevTransport: Send + Sync {
    /// An error says nothing about whether the call was carried out.
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Vec<u8>>;
}

/// The connection to `postrider dev`.
pub(crate) struct DevConnection {
    transport: Box<dyn DevTransport>,
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
            transport: Box::new(Http { client, origin }),
            vault: pass.vault()?,
        })
    }

    /// Encodes a call.
    pub(crate) fn pack<T: Serialize>(
        &self,
        call: impl FnOnce(&Vault) -> Result<T>,
    ) -> Result<Vec<u8>> {
        serde_json::to_vec(&call(&self.vault)?).map_err(|error| Error::Broken(error.to_string()))
    }

    /// Sends a call and returns the answer.
    pub(crate) async fn ask<A: Answer>(
        &self,
        verb: &str,
        call: Result<Vec<u8>>,
        results: usize,
    ) -> A {
        let answered = async {
            let answer = self.read(&format!("{PORTS}{verb}"), call?).await?;
            A::unpack(answer, &self.vault)
        };
        answered
            .await
            .unwrap_or_else(|error| A::failed(&error, results))
    }

    async fn read<T: serde::de::DeserializeOwned>(&self, path: &str, body: Vec<u8>) -> Result<T> {
        let answer = self.transport.post(path, body).await?;
        serde_json::from_slice(&answer).map_err(|_| crate::wire::unfit("an answer"))
    }
}

/// Over loopback.
struct Http {
    client: reqwest::Client,
    origin: Url,
}

#[async_trait]
impl DevTransport for Http {
    async fn post(&self, path: &str, body: Vec<u8>) -> Result<Vec<u8>> {
        let url = self
            .origin
            .join(path)
            .map_err(|error| Error::Broken(error.to_string()))?;
        let sent = self.client.post(url).body(body).send().await;
        let response = sent.map_err(unreachable)?;
        match response.status() {
            StatusCode::OK => Ok(response.bytes().await.map_err(unreachable)?.into()),
            StatusCode::UNAUTHORIZED => Err(Error::Broken(
                "the pass does not match the running `postrider dev`; use the URL that it printed"
                    .to_owned(),
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
    Error::Unavailable(format!("cannot reach `postrider dev`: {error}"))
}
