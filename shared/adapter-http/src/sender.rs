//! The sender: one POST, limited in time and size, never repeated.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, HeaderValue};
use http::{HeaderMap, Method, Request, Uri};
use http_body_util::Full;
use parking_lot::Mutex;
use postrider_domain::egress::Rules;
use postrider_domain::outcome::{Answer, Failure, FailureKind, Outcome, Phase, Timings};
use postrider_ports::sender::{OwnFault, OwnFaultKind, Post, Posted, Sender};
use tokio::time::timeout;
use url::{Position, Url};

use crate::body::Ending;
use crate::connection::Connection;
use crate::connector::{Connector, Endpoint};
use crate::dialling::{Dialling, millis, now};
use crate::exchange::Exchange;
use crate::failure::{self, NoConnection};
use crate::limits::{Limits, within};
use crate::network::Network;
use crate::pool::Pool;
use crate::reference::Reference;
use crate::resolve::Names;
use crate::settings::{HttpSetupError, SenderSettings};
use crate::tls;

/// Sends requests over HTTP/1.1 to addresses that the egress rules allow. Follows no redirects, ignores proxy
/// variables, decodes nothing and never repeats a request.
pub struct HttpSender {
    rules: Rules,
    connect_timeout: Duration,
    connector: Connector,
    pool: Pool,
    network: Mutex<Network>,
    reference: Option<Reference>,
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
            reference,
            max_idle_per_host,
        } = settings;
        let names = Names::new(name_servers.as_deref())?;
        let tls = tls::connector(extra_roots_pem.as_deref())?;
        let connector = Connector {
            rules: rules.clone(),
            names,
            tls,
        };
        Ok(Self {
            rules,
            connect_timeout,
            connector,
            pool: Pool::new(max_idle_per_host),
            network: Mutex::default(),
            reference: reference.as_ref().and_then(Reference::of),
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

/// How a request ended.
enum Ended {
    /// The request had a connection.
    Connected(Answer),
    NotConnected(NoConnection),
}

impl HttpSender {
    /// Sends a request over an idle connection or a new one.
    async fn exchange(
        &self,
        url: &Url,
        uri: &Uri,
        request: Request<Full<Bytes>>,
        limits: Limits,
    ) -> (Ended, Timings) {
        let origin = &url[..Position::BeforePath];
        let (connection, sent_at, mut timings) = match self.pool.take(origin) {
            Some(connection) => (Ok(connection), now(), Timings::default()),
            None => self.dial(uri, limits.connect).await,
        };
        let mut connection = match connection {
            Ok(connection) => connection,
            Err(failed) => return (Ended::NotConnected(failed), timings),
        };
        let mut exchange = Exchange::new(sent_at);
        let run = exchange.run(&mut connection, request);
        let is_complete = within(limits.response, run).await == Some(Ending::Complete);
        timings = exchange.timings(now(), timings);
        if is_complete {
            self.pool.put(origin, connection);
        }
        let answer = exchange.into_answer(limits.response);
        (Ended::Connected(answer), timings)
    }

    /// Opens a connection; returns how that ended, when, and how long each step took.
    async fn dial(
        &self,
        uri: &Uri,
        limit: Duration,
    ) -> (Result<Connection, NoConnection>, Instant, Timings) {
        let dialling = Dialling::new(limit);
        let opened = within(limit, self.connector.open(uri, &dialling)).await;
        let steps = dialling.steps();
        let opened = opened.unwrap_or_else(|| Err(failure::not_connected(steps.phase, limit)));
        let steps = match opened {
            Ok(_) => steps,
            Err(_) => steps.ended(now()),
        };
        (opened, steps.since, steps.timings)
    }

    /// The receiver's part in how a request ended.
    async fn judge(&self, host: &str, ended: Ended) -> Result<Answer, OwnFault> {
        match ended {
            Ended::Connected(answer) => {
                self.network.lock().connected(now());
                Ok(answer)
            }
            Ended::NotConnected(NoConnection::Failed(failure)) => {
                let is_own = is_silence(&failure) && self.is_cut_off().await;
                if is_own {
                    Err(of_network(failure))
                } else {
                    Ok(Answer::Failed(failure))
                }
            }
            Ended::NotConnected(NoConnection::Own(fault)) => Err(fault),
            Ended::NotConnected(NoConnection::Unreachable(failure)) => {
                let is_own = self.network.lock().is_down_for(host, now());
                let is_own = is_own || self.is_cut_off().await;
                if is_own {
                    Err(of_network(failure))
                } else {
                    Ok(Answer::Failed(failure))
                }
            }
        }
    }

    /// Whether no receiver was connected a moment ago and the reference is not reached either.
    async fn is_cut_off(&self) -> bool {
        let works = self.network.lock().works(now());
        match &self.reference {
            Some(reference) if !works => !reference.is_reached().await,
            Some(_) | None => false,
        }
    }
}

/// Whether nothing came back: what it looks like if packets are dropped on the way.
fn is_silence(failure: &Failure) -> bool {
    (failure.kind, failure.phase) == (FailureKind::Timeout, Phase::Connect)
}

fn of_network(failure: Failure) -> OwnFault {
    OwnFault {
        kind: OwnFaultKind::Network,
        detail: failure.detail,
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
        let request = request(&post.target_url, &uri, post.headers, post.body);
        let (ended, timings) = self.exchange(&post.target_url, &uri, request, limits).await;
        let total_ms = millis(now().saturating_duration_since(begun_at));
        let host = post.target_url.host_str().unwrap_or_default();
        let result = self.judge(host, ended).await?;
        Ok(Outcome {
            result,
            timings: Timings {
                total_ms,
                ..timings
            },
        })
    }
}

fn request(url: &Url, uri: &Uri, headers: HeaderMap, body: Bytes) -> Request<Full<Bytes>> {
    let length = HeaderValue::from(body.len());
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri
        .path_and_query()
        .cloned()
        .map_or_else(Uri::default, Uri::from);
    *request.headers_mut() = headers;
    // Sent even if it is 0: without it some receivers answer 411.
    request.headers_mut().insert(CONTENT_LENGTH, length);
    let host = &url[Position::BeforeHost..Position::AfterPort];
    if let Ok(host) = HeaderValue::from_str(host) {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    request
}
