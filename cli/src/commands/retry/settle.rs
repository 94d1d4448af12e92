//! What becomes of deliveries that were put back together.

use std::collections::HashSet;

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
use crate::shapes::Job;
use crate::when::Span;

/// How much may wait to be counted before the gateway is read no further.
const WAITING: usize = 1000;

/// Begins the job, watches it, then what it put back, until each is delivered or dead.
pub(super) async fn run(bulk: &Bulk<'_>, wait: &WaitArgs) -> Result<Ending, Failure> {
    // It listens before it begins, so that nothing is missed.
    let live = Live::open(bulk.client).await?;
    let (sender, heard) = mpsc::channel(WAITING);
    let answer = bulk.begin().await?;
    let job: Job = answer.read()?;
    let mut fates = Fates::default();
    let settling = async {
        tokio::select! {
            ended = live.tell(sender) => Err(ended.err().unwrap_or_else(deaf)),
            last = settle(bulk, answer, heard, &mut fates) => last,
        }
    };
    let settling = edge::unless_interrupted(settling);
    let ended = match wait.timeout {
        Some(Span(span)) => tokio::time::timeout(span.into(), settling).await.ok(),
        None => Some(settling.await),
    };
    match ended {
        Some(Some(last)) => fates.show(&last?, bulk),
        Some(None) => {
            watch::stopped(&job, bulk.out);
            Ok(Ending::Interrupted)
        }
        None => {
            let id = job.id.unwrap_or_default();
            let last = bulk.client.get(&["v1", "retries", &id]).await?;
            fates.show(&last, bulk)
        }
    }
}

fn deaf() -> Failure {
    Failure::NotUnderstood("the stream ended".to_owned())
}

/// The job's last answer, when it is over and all that it put back is settled.
async fn settle(
    bulk: &Bulk<'_>,
    begun: Answer,
    mut heard: mpsc::Receiver<Heard>,
    fates: &mut Fates,
) -> Result<Answer, Failure> {
    let answer = watch::to_its_end(bulk.client, begun, bulk.out).await?;
    let job: Job = answer.read()?;
    let put_back = job.done.unwrap_or(0);
    let progress = Progress::new(put_back, bulk.out);
    while !fates.are_settled(put_back) {
        match heard.recv().await {
            Some(Heard::StoredNotification(notification)) => {
                let change = notification.change();
                if let Some(change) = change.filter(|change| bulk.filter.wants(change)) {
                    fates.take(&change);
                    progress.set(fates.delivered + fates.dead);
                }
            }
            Some(Heard::Lost(_) | Heard::Back) => {}
            None => return Err(deaf()),
        }
    }
    Ok(answer)
}

/// What became of each.
#[derive(Debug, Default)]
struct Fates {
    put_back: u64,
    open: HashSet<String>,
    delivered: u64,
    dead: u64,
}

#[derive(Serialize)]
struct Told<'a> {
    retry: &'a RawValue,
    delivered: u64,
    dead: u64,
    open: u64,
}

impl Fates {
    fn take(&mut self, change: &Change) {
        match change.change.as_str() {
            "requeued" => {
                self.put_back += 1;
                self.open.insert(change.id.clone());
            }
            "delivered" if self.open.remove(&change.id) => self.delivered += 1,
            "dead" if self.open.remove(&change.id) => self.dead += 1,
            _ => {}
        }
    }

    fn are_settled(&self, put_back: u64) -> bool {
        self.put_back >= put_back && self.open.is_empty()
    }

    fn show(&self, last: &Answer, bulk: &Bulk<'_>) -> Result<Ending, Failure> {
        let (job, raw): (Job, Box<RawValue>) = (last.read()?, last.read()?);
        if job.matched == 0 {
            return watch::show(last, bulk.out);
        }
        let settled = self.delivered + self.dead;
        let open = job.done.unwrap_or(0).saturating_sub(settled);
        if bulk.out.wants_json() {
            bulk.out.value(&Told {
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
        let all_fine = self.dead == 0 && open == 0 && job.failed.unwrap_or(0) == 0;
        Ok(Ending::of(all_fine))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(change: &str, id: &str) -> Change {
        Change {
            change: change.to_owned(),
            at: String::new(),
            id: id.to_owned(),
            webhook_id: "wh_1".to_owned(),
            session_id: None,
            event_type: "a.b".to_owned(),
            status: String::new(),
            attempt_count: 0,
            reason: None,
        }
    }

    #[test]
    fn only_what_was_put_back_is_counted() {
        let mut fates = Fates::default();
        fates.take(&change("delivered", "dlv_other"));
        fates.take(&change("requeued", "dlv_1"));
        fates.take(&change("requeued", "dlv_2"));
        fates.take(&change("failed", "dlv_1"));
        fates.take(&change("dead", "dlv_2"));
        assert!(!fates.are_settled(2));
        fates.take(&change("delivered", "dlv_1"));
        assert_eq!((fates.delivered, fates.dead), (1, 1));
        assert!(fates.are_settled(2) && !fates.are_settled(3));
    }
}
