//! The gateway's notifications, live. After a lost connection the client reconnects at the last position, so no
//! notification is missed or shown twice, unless the gateway itself reports a gap.

mod connection;
mod notification;
mod sse;

use std::time::Duration;

use postrider_api_types::notification::NotificationView;
use tokio::sync::mpsc;

use self::connection::{Connection, End, lasting};
pub(crate) use self::notification::Change;
use self::notification::Known;
use self::sse::Event;
use crate::client::{Client, read};
use crate::edge;
use crate::failure::Failure;

/// The type of the event that stands for missing notifications.
const GAP: &str = "gap";
/// How long the gateway may take to send the stream's position.
const GREETING: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

#[derive(Debug)]
pub(crate) enum Heard {
    Notification(Box<NotificationView>),
    /// The gateway left out notifications here: there were too many, or it did not know of this client yet. Only on AWS.
    Gap,
    /// The connection was lost, for this reason; the client is reconnecting.
    Lost(String),
    /// The client has reconnected.
    Back,
}

pub(crate) struct Live<'a> {
    client: &'a Client,
    /// The last known position, where to continue.
    place: Option<String>,
    known: Known,
    connection: Connection,
    /// Events received together with the first position.
    early: Vec<Event>,
}

impl<'a> Live<'a> {
    /// Starts listening. Notifications from now on are received.
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
                "/v1/stream does not send its position".to_owned(),
            )),
        }
    }

    /// Reads until the position is known.
    async fn greeting(&mut self) -> Result<(), End> {
        while self.place.is_none() {
            let events = self.connection.read().await?;
            self.place = events.iter().rev().find_map(|event| event.id.clone());
            self.early.extend(events);
        }
        Ok(())
    }

    /// Forwards notifications until the receiver is dropped. Returns only failures that reconnecting does not fix.
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

    /// Forwards the notifications of one connection.
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
            if event.kind == GAP {
                to.send(Heard::Gap).await.map_err(|_| End::Deaf)?;
            }
            // An unreadable event comes from a newer gateway. Requesting it again would return the same event.
            if let Ok(notification) = read::<NotificationView>(&event.data)
                && self.known.is_new(&notification)
            {
                let heard = Heard::Notification(Box::new(notification));
                to.send(heard).await.map_err(|_| End::Deaf)?;
            }
            // Only now, so that an event that was not forwarded is sent again.
            self.place = event.id.or(self.place.take());
        }
        Ok(())
    }
}
