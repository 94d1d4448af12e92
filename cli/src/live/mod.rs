//! What happens in a gateway, as it happens. A lost connection is made again, from the place where it broke: nothing is
//! missed and nothing comes twice.

mod connection;
mod notification;
mod sse;

use std::time::Duration;

use tokio::sync::mpsc;

use self::connection::{Connection, End, lasting};
use self::notification::Known;
pub(crate) use self::notification::{Change, NotificationView};
use self::sse::Event;
use crate::client::{Client, read};
use crate::edge;
use crate::failure::Failure;

/// How long a stream may take to say where it begins.
const GREETING: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// What a listener is told.
#[derive(Debug)]
pub(crate) enum Heard {
    /// Something happened.
    StoredNotification(Box<NotificationView>),
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

impl<'a> Live<'a> {
    /// Begins to listen. What happens from now on will be heard.
    pub(crate) async fn open(client: &'a Client) -> Result<Self, Failure> {
        let connection = Connection::open(client, None).await?;
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
                    match Connection::open(self.client, self.place.as_deref()).await {
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
            match Connection::open(self.client, self.place.as_deref()).await {
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
            self.connection.note(&event);
            // One that cannot be read is of a gateway yet to come. Asking for it again would bring it again.
            if let Ok(notification) = read::<NotificationView>(&event.data)
                && self.known.is_new(&notification)
            {
                let heard = Heard::StoredNotification(Box::new(notification));
                to.send(heard).await.map_err(|_| End::Deaf)?;
            }
            // Only now: what was not passed on comes again.
            self.place = event.id.or(self.place.take());
        }
        Ok(())
    }
}
