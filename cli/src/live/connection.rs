//! One connection to the stream, from its place to its end.

use std::time::Duration;

use http::{Method, StatusCode};
use reqwest::Response;

use super::sse::{Event, Parser};
use crate::client::{Client, why_unreachable};
use crate::failure::Failure;

/// An open stream is left to last; a gateway that ends it is asked again.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// A quiet stream says each 15 seconds that it lives.
const SILENCE: Duration = Duration::from_secs(45);
/// A gateway that answers what is new and ends brings so many at once; after a full answer there may be more.
const FULL_ANSWER: usize = 100;

/// An open connection.
pub(super) struct Connection {
    response: Response,
    parser: Parser,
    /// Set by a gateway that answers what is new and ends.
    come_back_after: Option<Duration>,
    taken: usize,
}

/// How a connection ended.
pub(super) enum End {
    /// As it should: come back after this long.
    ComeBack(Duration),
    /// Before its time, for this reason.
    Broken(String),
    /// Nobody listens any more.
    Deaf,
}

impl Connection {
    /// Connects; what comes after the place will be heard, or what comes next.
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

    /// The next events; none may be complete yet.
    pub(super) async fn read(&mut self) -> Result<Vec<Event>, End> {
        let broken = |reason: &str| End::Broken(reason.to_owned());
        match tokio::time::timeout(SILENCE, self.response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let events = self.parser.feed(&bytes);
                events.map_err(|_| broken("what comes is no stream of events"))
            }
            Ok(Ok(None)) => Err(match self.come_back_after {
                Some(_) if self.taken >= FULL_ANSWER => End::ComeBack(Duration::ZERO),
                Some(pause) => End::ComeBack(pause),
                None => broken("the gateway ended it"),
            }),
            Ok(Err(error)) => Err(End::Broken(why_unreachable(&error))),
            Err(_) => Err(broken("the gateway has become silent")),
        }
    }

    /// Takes in what an event says of the connection itself.
    pub(super) fn note(&mut self, event: &Event) {
        if let Some(pause) = event.retry_ms {
            self.come_back_after = Some(Duration::from_millis(pause));
        }
        if !event.data.is_empty() {
            self.taken += 1;
        }
    }
}

/// The failures that time may mend, as words. A key that is no longer good is not among them.
pub(super) fn lasting(failure: Failure) -> Result<String, Failure> {
    match &failure {
        Failure::Rejected { problem, .. } if problem.status != StatusCode::TOO_MANY_REQUESTS => {
            Err(failure)
        }
        Failure::Input(_) | Failure::Output(_) => Err(failure),
        Failure::Rejected { .. }
        | Failure::InTrouble(_)
        | Failure::Unreachable { .. }
        | Failure::NoAnswer { .. }
        | Failure::NotUnderstood(_) => Ok(failure.to_string()),
    }
}
