//! What happens in a gateway, as it happens. A lost connection is made again, from the place where it broke: nothing is
//! missed and nothing comes twice.

mod announcement;
mod sse;

use std::time::Duration;

use http::{Method, StatusCode};
use reqwest::Response;
use tokio::sync::mpsc;

use self::announcement::Heard as Known;
pub(crate) use self::announcement::{Announcement, Change};
use self::sse::{Event, Parser};
use crate::client::{Client, read};
use crate::edge;
use crate::failure::Failure;

/// An open stream is left to last; a gateway that ends it is asked again.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// A quiet stream says each 15 seconds that it lives.
const SILENCE: Duration = Duration::from_secs(45);
/// How long a stream may take to say where it begins.
const GREETING: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// A gateway that answers what is new and ends brings so many at once; after a full answer there may be more.
const FULL_ANSWER: usize = 100;

/// What a listener is told.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Something happened.
    Announced(Box<Announcement>),
    /// The connection broke, for this reason; it is made again.
    Lost(String),
    /// The connection is there again.
    Back,
}

/// Listens to one gateway.
pub(crate) struct Live<'a> {
    client: &'a Client,
    /// The last place that is known; where to go on.
    place: Option<String>,
    known: Known,
    connection: Connection,
    /// What came with the greeting.
    early: Vec<Event>,
}

struct Connection {
    response: Response,
    parser: Parser,
    /// Set by a gateway that answers what is new and ends.
    come_back_after: Option<Duration>,
    taken: usize,
}

/// How a connection ended.
enum End {
    /// As it should: come back after this long.
    ComeBack(Duration),
    Broken(String),
    /// Nobody listens any more.
    Deaf,
}

impl<'a> Live<'a> {
    /// Begins to listen. What happens from now on will be heard.
    pub(crate) async fn open(client: &'a Client) -> Result<Self, Failure> {
        let connection = connect(client, None).await?;
        let mut live = Self {
            client,
            place: None,
            known: Known::default(),
            connection,
            early: Vec::new(),
        };
        let greeted = tokio::time::timeout(GREETING, live.greeting()).await;
        match greeted {
            Ok(Ok(())) => Ok(live),
            Ok(Err(End::Broken(reason))) => Err(Failure::NotUnderstood(reason)),
            Ok(Err(End::ComeBack(_) | End::Deaf)) | Err(_) => Err(Failure::NotUnderstood(
                "/v1/stream does not say where it begins".to_owned(),
            )),
        }
    }

    /// Reads until the place is known.
    async fn greeting(&mut self) -> Result<(), End> {
        while self.place.is_none() {
            let events = self.connection.read().await?;
            self.place = events.iter().rev().find_map(|event| event.id.clone());
            self.early.extend(events);
        }
        Ok(())
    }

    /// Tells what happens, for as long as somebody wants to know; the failure is one that trying again does not mend.
    pub(crate) async fn tell(mut self, to: mpsc::Sender<Heard>) -> Result<(), Failure> {
        let early = std::mem::take(&mut self.early);
        let mut end = self.pass_on(early, &to).await.err();
        loop {
            let ended = match end.take() {
                Some(ended) => ended,
                None => self.follow(&to).await,
            };
            match ended {
                End::Deaf => return Ok(()),
                End::ComeBack(pause) => {
                    edge::pause(pause).await;
                    match connect(self.client, self.place.as_deref()).await {
                        Ok(connection) => self.connection = connection,
                        Err(failure) => end = Some(End::Broken(lasting(failure)?)),
                    }
                }
                End::Broken(reason) => {
                    if to.send(Heard::Lost(reason)).await.is_err() {
                        return Ok(());
                    }
                    self.connection = self.connect_again().await?;
                    if to.send(Heard::Back).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn connect_again(&self) -> Result<Connection, Failure> {
        let mut pause = FIRST_PAUSE;
        loop {
            edge::pause(pause).await;
            match connect(self.client, self.place.as_deref()).await {
                Ok(connection) => return Ok(connection),
                Err(failure) => lasting(failure)?,
            };
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Passes on what one connection brings.
    async fn follow(&mut self, to: &mpsc::Sender<Heard>) -> End {
        loop {
            let passed = match self.connection.read().await {
                Ok(events) => self.pass_on(events, to).await,
                Err(end) => Err(end),
            };
            if let Err(end) = passed {
                return end;
            }
        }
    }

    async fn pass_on(&mut self, events: Vec<Event>, to: &mpsc::Sender<Heard>) -> Result<(), End> {
        for event in events {
            if let Some(pause) = event.retry_ms {
                self.connection.come_back_after = Some(Duration::from_millis(pause));
            }
            if !event.data.is_empty() {
                let announcement: Announcement =
                    read(&event.data).map_err(|failure| End::Broken(failure.to_string()))?;
                self.connection.taken += 1;
                if self.known.is_new(&announcement) {
                    let heard = Heard::Announced(Box::new(announcement));
                    to.send(heard).await.map_err(|_| End::Deaf)?;
                }
            }
            // Only now: what was not passed on comes again.
            self.place = event.id.or(self.place.take());
        }
        Ok(())
    }
}

impl Connection {
    /// The next events; none may be complete yet.
    async fn read(&mut self) -> Result<Vec<Event>, End> {
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
            Ok(Err(error)) => Err(End::Broken(crate::client::why_unreachable(&error))),
            Err(_) => Err(broken("the gateway has become silent")),
        }
    }
}

async fn connect(client: &Client, place: Option<&str>) -> Result<Connection, Failure> {
    let mut request = client.request(Method::GET, &["v1", "stream"])?;
    if let Some(place) = place {
        request = request.header("last-event-id", place);
    }
    let response = client.open(request.timeout(LONGEST)).await?;
    Ok(Connection {
        response,
        parser: Parser::default(),
        come_back_after: None,
        taken: 0,
    })
}

/// The failures that time may mend, as words. A key that is no longer good is not among them.
fn lasting(failure: Failure) -> Result<String, Failure> {
    match &failure {
        Failure::Refused { problem, .. } if problem.status != StatusCode::TOO_MANY_REQUESTS => {
            Err(failure)
        }
        Failure::Input(_) | Failure::Output(_) => Err(failure),
        Failure::Refused { .. }
        | Failure::InTrouble(_)
        | Failure::Unreachable { .. }
        | Failure::NoAnswer { .. }
        | Failure::NotUnderstood(_) => Ok(failure.to_string()),
    }
}
