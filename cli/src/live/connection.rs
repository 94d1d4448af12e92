//! One connection to the stream.

use std::time::Duration;

use http::{Method, StatusCode};
use reqwest::Response;

use super::sse::{Event, Parser};
use crate::client::{Client, why_unreachable};
use crate::failure::Failure;

/// Timeout of an open stream. If the gateway closes it earlier, the client reconnects.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// An idle stream sends a keep-alive every 15 s.
const SILENCE: Duration = Duration::from_secs(45);
/// The most events that a gateway without open streams returns per response; after a full response there may be more.
const FULL_ANSWER: usize = 100;

pub(super) struct Connection {
    response: Response,
    parser: Parser,
    /// Set by a gateway that returns new events and closes the response.
    come_back_after: Option<Duration>,
    taken: usize,
}

pub(super) enum End {
    /// As intended: reconnect after this long.
    ComeBack(Duration),
    /// Unexpectedly, for this reason.
    Broken(String),
    /// The listener is gone.
    Deaf,
}

impl Connection {
    /// Connects and continues after this position, or with the next event if there is none.
    pub(super) async fn open(client: &Client, place: Option<&str>) -> Result<Self, Failure> {
        let mut request = client.request(Method::GET, &["v1", "stream"])?;
        if let Some(place) = place {
            request = request.header("last-event-id", place);
        }
        Ok(Self {
            response: client.open(request.timeout(LONGEST)).await?,
            parser: Parser::default(),
            come_back_after: None,
            taken: 0,
        })
    }

    /// The next events; empty if none is complete yet.
    pub(super) async fn read(&mut self) -> Result<Vec<Event>, End> {
        let broken = |reason: &str| End::Broken(reason.to_owned());
        match tokio::time::timeout(SILENCE, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let events = self.parser.feed(&bytes);
                events.map_err(|_| broken("the response is not an event stream"))
            }
            Ok(Ok(None)) => Err(match self.come_back_after {
                Some(_) if self.taken >= FULL_ANSWER => End::ComeBack(Duration::ZERO),
                Some(pause) => End::ComeBack(pause),
                None => broken("the gateway closed the connection"),
            }),
            Ok(Err(error)) => Err(End::Broken(why_unreachable(&error))),
            Err(_) => Err(broken("the gateway stopped sending")),
        }
    }

    /// Applies what an event says about the connection itself.
    pub(super) fn note(&mut self, event: &Event) {
        if let Some(pause) = event.retry_ms {
            self.come_back_after = Some(Duration::from_millis(pause));
        }
        if !event.data.is_empty() {
            self.taken += 1;
        }
    }
}

/// The text of a failure that may go away, so that retrying makes sense. A key that is no longer valid is not one.
pub(super) fn lasting(failure: Failure) -> Result<String, Failure> {
    match &failure {
        Failure::Rejected { problem, .. } if problem.status != StatusCode::TOO_MANY_REQUESTS => {
            Err(failure)
        }
        Failure::Input(_) | Failure::Aws(_) | Failure::Output(_) => Err(failure),
        Failure::Rejected { .. }
        | Failure::ServerError(_)
        | Failure::Unreachable { .. }
        | Failure::NoAnswer { .. }
        | Failure::NotUnderstood(_) => Ok(failure.to_string()),
    }
}
