//! The sender: one POST, limited in time and size, never repeated.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use postrider_domain::egress::Rules;
use postrider_domain::outcome::{Answer, Failure, Outcome, Phase, Timings};
use postrider_ports::sender::{OwnFault, OwnFaultKind, Post, Posted, Sender};
use tokio::time::timeout;
use url::Url;

use crate::connector::{Connector, Endpoint};
use crate::dialling::{CURRENT, Dialling, now};
use crate::exchange::{Ended, Exchange};
use crate::failure::{self, MAX_HEAD_BYTES, NoConnection};
use crate::limits::Limits;
use crate::network::Network;
use crate::resolve::Names;
use crate::settings::{HttpSetupError, SenderSettings};
use crate::tls;

/// How long an idle connection is kept: less than the five seconds after which Node.js and other servers close theirs,
/// so that a request does not hit a connection that is being closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Sends requests over HTTP/1.1 to addresses that the egress rules allow. Follows no redirects, ignores proxy
/// variables, decodes nothing and never repeats a request.
pub struct HttpSender {
    rules: Rules,
    connect_timeout: Duration,
    connector: Connector,
    client: Client<Connector, Full<Bytes>>,
    network: Mutex<Network>,
}

impl HttpSender {
    /// A sender with its own connection pool.
    ///
    /// # Errors
    /// If the name servers or the additional certificate authorities cannot be used.
    pub fn new(settings: SenderSettings) -> Result<Self, HttpSetupError> {
        let SenderSettings {
            rules,
            name_servers,
            extra_roots_pem,
            connect_timeout,
            max_idle_per_host,
        } = settings;
        let names = Names::new(name_servers.as_deref())?;
        let tls = tls::connector(extra_roots_pem.as_deref())?;
        let connector = Connector::new(rules.clone(), names, tls, connect_timeout);
        let client = Client::builder(TokioExecutor::new())
            .retry_canceled_requests(false)
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(max_idle_per_host)
            .http1_max_buf_size(MAX_HEAD_BYTES)
            .build(connector.clone());
        Ok(Self {
            rules,
            connect_timeout,
            connector,
            client,
            network: Mutex::default(),
        })
    }

    /// Resolves and checks where a request to this URL would go, without connecting.
    ///
    /// # Errors
    /// Why the request would not be sent.
    pub async fn addresses_of(&self, url: &Url) -> Result<Vec<SocketAddr>, Failure> {
        let uri = self.checked(url)?;
        let endpoint = Endpoint::of(&uri)?;
        let looked_up = timeout(
            self.connect_timeout,
            self.connector.checked_addresses(&endpoint, None),
        )
        .await;
        let addresses = looked_up
            .unwrap_or_else(|_| Err(failure::not_connected(Phase::Dns, self.connect_timeout)))
            .map_err(NoConnection::into_failure)?;
        Ok(addresses
            .into_iter()
            .map(|ip| SocketAddr::new(ip, endpoint.port()))
            .collect())
    }

    fn checked(&self, url: &Url) -> Result<Uri, Failure> {
        self.rules
            .check(url)
            .map_err(|blocked| failure::blocked(&blocked, Phase::Check))?;
        Uri::try_from(url.as_str()).map_err(|_| failure::unsendable())
    }
}

impl HttpSender {
    /// The receiver's part in how an exchange ended.
    fn judge(&self, host: &str, ended: Ended) -> Result<Answer, OwnFault> {
        match ended {
            Ended::Connected(answer) => {
                self.network.lock().connected(now());
                Ok(answer)
            }
            Ended::NotConnected(NoConnection::Failed(failure)) => Ok(Answer::Failed(failure)),
            Ended::NotConnected(NoConnection::Own(fault)) => Err(fault),
            Ended::NotConnected(NoConnection::Unreachable(failure)) => {
                if self.network.lock().is_down_for(host, now()) {
                    Err(OwnFault {
                        kind: OwnFaultKind::Network,
                        detail: failure.detail,
                    })
                } else {
                    Ok(Answer::Failed(failure))
                }
            }
        }
    }
}

#[async_trait]
impl Sender for HttpSender {
    async fn post(&self, post: Post) -> Posted {
        let begun_at = now();
        let uri = match self.checked(&post.target_url) {
            Ok(uri) => uri,
            Err(failure) => {
                return Ok(Outcome {
                    result: Answer::Failed(failure),
                    timings: Timings::default(),
                });
            }
        };
        let limits = Limits {
            connect: self.connect_timeout,
            response: post.timeout.into(),
        };
        let length = HeaderValue::from(post.body.len());
        let mut request = Request::new(Full::new(post.body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        *request.headers_mut() = post.headers;
        // Sent even if it is 0: without it some receivers answer 411.
        request.headers_mut().insert(CONTENT_LENGTH, length);

        let dialling = Arc::new(Dialling::new(limits.connect));
        let mut exchange = Exchange::new(begun_at, Arc::clone(&dialling), &mut request);
        let connected = exchange.connected();
        let run = CURRENT.scope(dialling, exchange.run(&self.client, request));
        limits.enforce(run, connected).await;
        let (ended, timings) = exchange.into_ended(limits);
        let host = post.target_url.host_str().unwrap_or_default();
        let result = self.judge(host, ended)?;
        Ok(Outcome { result, timings })
    }
}
