//! `postrider deliveries --follow`: changes to deliveries, live.

mod line;
mod shown;

use std::collections::HashMap;

use postrider_api_types::delivery::{DeliveryDetail, DeliveryView};
use postrider_api_types::{ApiTime, Word};
use postrider_domain::delivery::Status;
use postrider_domain::notification::NotificationKind;
use tokio::sync::mpsc;

use self::line::{Gap, Line};
use self::shown::Shown;
use super::ListArgs;
use crate::client::Client;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::live::{Change, Heard, Live};
use crate::output::Output;
use crate::pages;
use crate::views::WebhookNames;

const DEFAULT_LIMIT: usize = 10;
/// How many notifications may wait to be printed before reading from the gateway pauses.
const WAITING: usize = 1000;

pub(super) async fn run(args: &ListArgs, client: &Client, out: Output) -> Result<Ending, Failure> {
    let (sender, heard) = mpsc::channel(WAITING);
    let following = async {
        // Listen before listing, so that no change is missed in between.
        let live = Live::open(client).await?;
        let mut follow = Follow {
            args,
            client,
            out,
            names: WebhookNames::default(),
            listed: Listed::default(),
            shown: Shown::default(),
        };
        follow.list().await?;
        tokio::select! {
            ended = live.tell(sender) => ended,
            ended = follow.print(heard) => ended,
        }
    };
    edge::unless_interrupted(following)
        .await
        .transpose()
        .map(|_| Ending::Fine)
}

struct Follow<'a> {
    args: &'a ListArgs,
    client: &'a Client,
    out: Output,
    names: WebhookNames,
    listed: Listed,
    shown: Shown,
}

impl Follow<'_> {
    /// Prints the existing deliveries, oldest first.
    async fn list(&mut self) -> Result<(), Failure> {
        let deliveries = self.newest().await?;
        if !self.out.wants_json() {
            self.names = WebhookNames::read(self.client).await;
        }
        for delivery in deliveries.iter().rev() {
            self.show(&Line::listed(delivery))?;
        }
        self.listed = deliveries.iter().collect();
        Ok(())
    }

    async fn newest(&self) -> Result<Vec<DeliveryView>, Failure> {
        let conditions = self.args.filter.parameters(self.args.status, edge::now());
        let limit = self.args.limit.unwrap_or(DEFAULT_LIMIT);
        // At least one, so that the gateway rejects an invalid condition.
        let path = ["v1", "deliveries"];
        let listing = pages::first(self.client, &path, &conditions, limit.max(1)).await?;
        let mut deliveries: Vec<DeliveryView> = listing.read()?;
        deliveries.truncate(limit);
        Ok(deliveries)
    }

    /// Says that changes are missing. Unless others wait to be shown, the newest deliveries are listed again, as far as they
    /// have changed.
    async fn tell_gap(&mut self, has_time: bool) -> Result<(), Failure> {
        if self.out.wants_json() {
            self.out.value(&Gap::at(ApiTime(edge::now())))?;
        } else {
            self.out.note(
                "Some changes are missing here: the gateway streams about 100 a second, and only while a client listens.",
            );
        }
        if !has_time {
            return Ok(());
        }
        for delivery in self.newest().await?.iter().rev() {
            let line = Line::listed(delivery);
            if !self.shown.has(&line) {
                self.show(&line)?;
            }
        }
        Ok(())
    }

    async fn print(&mut self, mut heard: mpsc::Receiver<Heard>) -> Result<(), Failure> {
        while let Some(next) = heard.recv().await {
            match next {
                Heard::Notification(notification) => {
                    let change = Change::of(*notification);
                    if let Some(change) = change.filter(|change| self.wants(change)) {
                        let error = self.why(&change, heard.is_empty()).await;
                        self.show(&Line::changed(&change, error.as_deref()))?;
                    }
                }
                Heard::Gap => self.tell_gap(heard.is_empty()).await?,
                Heard::Lost(reason) => self.out.note(format!(
                    "Lost the connection to the gateway ({reason}); reconnecting …"
                )),
                Heard::Back => self.out.note("Reconnected; no change was missed."),
            }
        }
        Ok(())
    }

    fn wants(&mut self, change: &Change) -> bool {
        let fits = self
            .args
            .status
            .is_none_or(|status| change.status == status);
        // Evaluated for every change, because each one updates what is known of a listed delivery.
        let is_new = self.listed.is_new(change);
        is_new && fits && self.args.filter.wants(change)
    }

    /// Why it failed, as the gateway explains it. Not with --json, and not while further changes are waiting.
    async fn why(&self, change: &Change, has_time: bool) -> Option<String> {
        let failed = change.status == Status::Failed || change.status == Status::Dead;
        if self.out.wants_json() || !has_time || !failed {
            return None;
        }
        let answer = self.client.get(&["v1", "deliveries", &change.id]).await;
        let DeliveryDetail { delivery, why, .. } = answer.ok()?.read().ok()?;
        let is_same =
            delivery.status == change.status && delivery.attempt_count == change.attempt_count;
        why.filter(|_| is_same).map(|why| why.title)
    }

    fn show(&mut self, line: &Line<'_>) -> Result<(), Failure> {
        self.shown.add(line);
        if self.out.wants_json() {
            self.out.value(line)
        } else {
            self.out.line(line.for_people(&self.names, self.out))
        }
    }
}

/// The listed deliveries with their state at that time; changes up to that state have been shown.
#[derive(Debug, Default)]
struct Listed(HashMap<String, (Word<Status>, u32)>);

impl<'a> FromIterator<&'a DeliveryView> for Listed {
    fn from_iter<T: IntoIterator<Item = &'a DeliveryView>>(deliveries: T) -> Self {
        let state = |row: &DeliveryView| (row.id.clone(), (row.status.clone(), row.attempt_count));
        Self(deliveries.into_iter().map(state).collect())
    }
}

impl Listed {
    /// Whether a change happened after the list was read.
    fn is_new(&mut self, change: &Change) -> bool {
        let Some((status, attempts)) = self.0.get(&change.id) else {
            return true;
        };
        let is_shown = *status == change.status && *attempts == change.attempt_count;
        let is_older =
            change.kind != NotificationKind::DeliveryRequeued && change.attempt_count < *attempts;
        if !is_older {
            self.0.remove(&change.id);
        }
        !is_shown && !is_older
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::notification::NotificationKind::{
        DeliveryDead, DeliveryFailed, DeliveryRequeued,
    };
    use postrider_domain::time::Timestamp;

    fn change(kind: NotificationKind, status: Status, attempt_count: u32) -> Change {
        Change {
            kind: kind.into(),
            at: ApiTime(Timestamp::ZERO),
            id: "dlv_1".to_owned(),
            webhook_id: "wh_1".to_owned(),
            session_id: None,
            event_type: "a.b".to_owned(),
            status: status.into(),
            attempt_count,
            reason: None,
        }
    }

    #[test]
    fn a_change_that_the_list_shows_is_not_shown_again() {
        let listed = || Listed([("dlv_1".to_owned(), (Status::Failed.into(), 2))].into());
        let mut overlapping = listed();
        assert!(!overlapping.is_new(&change(DeliveryFailed, Status::Failed, 1)));
        assert!(!overlapping.is_new(&change(DeliveryFailed, Status::Failed, 2)));
        assert!(overlapping.is_new(&change(DeliveryFailed, Status::Failed, 3)));
        let mut later = listed();
        assert!(later.is_new(&change(DeliveryRequeued, Status::Pending, 0)));
        assert!(
            later.is_new(&change(DeliveryFailed, Status::Failed, 1)),
            "a manual retry resets the attempt count"
        );
        assert!(listed().is_new(&change(DeliveryDead, Status::Dead, 3)));
    }
}
