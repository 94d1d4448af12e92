//! Waits for the result of a bulk retry's deliveries.

use std::collections::HashSet;

use postrider_api_types::job::RetryJobView;
use postrider_domain::notification::NotificationKind;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::super::follow::WaitArgs;
use super::bulk::Bulk;
use super::watch::{self, Progress};
use crate::client::Answer;
use crate::edge;
use crate::failure::{Ending, Failure};
use crate::live::{Change, Heard, Live};
use crate::when::Span;

/// How many notifications may wait to be counted before reading from the gateway pauses.
const WAITING: usize = 1000;

/// Starts the job, watches it, then its deliveries until each is delivered or dead.
pub(super) async fn run(bulk: &Bulk<'_>, wait: &WaitArgs) -> Result<Ending, Failure> {
    // Listens before it starts the job, so that no notification is missed.
    let live = Live::open(bulk.client).await?;
    let (sender, heard) = mpsc::channel(WAITING);
    let answer = bulk.start().await?;
    let job: RetryJobView = answer.read()?;
    let mut results = Results::default();
    let settling = async {
        tokio::select! {
            ended = live.tell(sender) => Err(ended.err().unwrap_or_else(deaf)),
            last = settle(bulk, answer, heard, &mut results) => last,
        }
    };
    let settling = edge::unless_interrupted(settling);
    let ended = match wait.timeout {
        Some(Span(span)) => tokio::time::timeout(span.into(), settling).await.ok(),
        None => Some(settling.await),
    };
    match ended {
        Some(Some(last)) => results.show(&last?, bulk),
        Some(None) => {
            watch::stopped(&job, bulk.out);
            Ok(Ending::Interrupted)
        }
        None => {
            let id = job.id.unwrap_or_default();
            let last = bulk.client.get(&["v1", "retries", &id]).await?;
            results.show(&last, bulk)
        }
    }
}

fn deaf() -> Failure {
    Failure::NotUnderstood("the stream ended".to_owned())
}

/// The final state of the job, once all deliveries that it requeued are settled.
async fn settle(
    bulk: &Bulk<'_>,
    started: Answer,
    mut heard: mpsc::Receiver<Heard>,
    results: &mut Results,
) -> Result<Answer, Failure> {
    let answer = watch::to_its_end(bulk.client, started, bulk.out).await?;
    let job: RetryJobView = answer.read()?;
    let requeued = job.done;
    let progress = Progress::new(bulk.out);
    while !results.are_settled(requeued) {
        match heard.recv().await {
            Some(Heard::Notification(notification)) => {
                let change = Change::of(*notification);
                if let Some(change) = change.filter(|change| bulk.filter.wants(change)) {
                    results.take(&change);
                    let settled = results.delivered + results.dead;
                    progress.set(settled, requeued, requeued.to_string());
                }
            }
            Some(Heard::Gap) => {
                bulk.out.note(
                    "Some changes are missing from the live feed; checking the list of deliveries instead.",
                );
                let dead = bulk.dead_once_settled().await?;
                results.count_listed(requeued, dead);
            }
            Some(Heard::Lost(_) | Heard::Back) => {}
            None => return Err(deaf()),
        }
    }
    Ok(answer)
}

/// The results so far.
#[derive(Debug, Default)]
struct Results {
    requeued: u64,
    open: HashSet<String>,
    delivered: u64,
    dead: u64,
}

#[derive(Serialize)]
struct Summary<'a> {
    retry: &'a RawValue,
    delivered: u64,
    dead: u64,
    open: u64,
}

impl Results {
    fn take(&mut self, change: &Change) {
        if change.kind == NotificationKind::DeliveryRequeued {
            self.requeued += 1;
            self.open.insert(change.id.clone());
        } else if change.kind == NotificationKind::DeliveryDelivered {
            self.delivered += u64::from(self.open.remove(&change.id));
        } else if change.kind == NotificationKind::DeliveryDead {
            self.dead += u64::from(self.open.remove(&change.id));
        }
    }

    /// Takes over what a list shows after a gap: no delivery is open, and so many are dead.
    fn count_listed(&mut self, requeued: u64, dead: u64) {
        self.requeued = requeued;
        self.open.clear();
        self.dead = dead.min(requeued);
        self.delivered = requeued - self.dead;
    }

    fn are_settled(&self, requeued: u64) -> bool {
        self.requeued >= requeued && self.open.is_empty()
    }

    fn show(&self, last: &Answer, bulk: &Bulk<'_>) -> Result<Ending, Failure> {
        let (job, raw): (RetryJobView, Box<RawValue>) = (last.read()?, last.read()?);
        if watch::matches_none(&job) {
            return watch::show(last, bulk.out);
        }
        let settled = self.delivered + self.dead;
        let open = job.done.saturating_sub(settled);
        if bulk.out.wants_json() {
            bulk.out.value(&Summary {
                retry: &raw,
                delivered: self.delivered,
                dead: self.dead,
                open,
            })?;
        } else {
            bulk.out.line(format!(
                "{}; {} delivered, {} dead again, {open} still open",
                watch::in_words(&job),
                self.delivered,
                self.dead
            ))?;
        }
        let all_fine = self.dead == 0 && open == 0 && job.failed == 0;
        Ok(Ending::of(all_fine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_api_types::ApiTime;
    use postrider_domain::delivery::Status;
    use postrider_domain::notification::NotificationKind::{
        DeliveryDead, DeliveryDelivered, DeliveryFailed, DeliveryRequeued,
    };
    use postrider_domain::time::Timestamp;

    fn change(kind: NotificationKind, id: &str) -> Change {
        Change {
            kind: kind.into(),
            at: ApiTime(Timestamp::ZERO),
            id: id.to_owned(),
            webhook_id: "wh_1".to_owned(),
            session_id: None,
            event_type: "a.b".to_owned(),
            status: Status::Pending.into(),
            attempt_count: 0,
            reason: None,
        }
    }

    #[test]
    fn only_requeued_deliveries_are_counted() {
        let mut results = Results::default();
        results.take(&change(DeliveryDelivered, "dlv_other"));
        results.take(&change(DeliveryRequeued, "dlv_1"));
        results.take(&change(DeliveryRequeued, "dlv_2"));
        results.take(&change(DeliveryFailed, "dlv_1"));
        results.take(&change(DeliveryDead, "dlv_2"));
        assert!(!results.are_settled(2));
        results.take(&change(DeliveryDelivered, "dlv_1"));
        assert_eq!((results.delivered, results.dead), (1, 1));
        assert!(results.are_settled(2) && !results.are_settled(3));
    }

    #[test]
    fn after_a_gap_the_list_decides() {
        let mut results = Results::default();
        results.take(&change(DeliveryRequeued, "dlv_1"));
        assert!(!results.are_settled(3));
        results.count_listed(3, 1);
        assert_eq!((results.delivered, results.dead), (2, 1));
        assert!(results.are_settled(3));
        results.count_listed(3, 5);
        assert_eq!(
            (results.delivered, results.dead),
            (0, 3),
            "others may have died meanwhile"
        );
    }
}
