//! The rows of a backlog as its drainer reads them: pages of each part in memory, each part read to its end before it is
//! read again.

use std::collections::{HashSet, VecDeque};

use futures_util::{StreamExt, TryStreamExt, stream};
use postrider_domain::flow::{AttemptKind, Waiting};
use postrider_domain::ids::{DeliveryId, TenantId, WebhookId};
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::backlog::Rows;
use postrider_ports::drains::{BacklogPart, Drains, Looked};
use postrider_ports::history::Cursor;
use postrider_ports::queue::AttemptMessage;

/// How many rows of each part are read at a time.
const PAGE: usize = 50;
const PARTS_AT_ONCE: usize = 16;
/// How soon a part that was read to its end is read again: each costs a query, and most are empty.
const READ_AGAIN_AFTER: Millis = Millis::from_seconds(5);

pub(super) struct Lanes {
    tenant: TenantId,
    parts: Vec<Lane>,
}

struct Lane {
    part: BacklogPart,
    /// Rows that are due, the most overdue first.
    page: VecDeque<AttemptMessage>,
    position: Position,
    /// When the current pass over the part began.
    began_at: Timestamp,
    /// When the first row that was not due will be.
    next_due_at: Option<Timestamp>,
}

enum Position {
    Unread,
    After(Cursor),
    /// No more rows are due.
    End,
}

impl Lanes {
    pub(super) fn new(tenant: TenantId, webhook: WebhookId, shards: u16) -> Self {
        let kinds = [AttemptKind::Retry, AttemptKind::First].into_iter();
        let parts = kinds.flat_map(|kind| {
            (0..shards).map(move |shard| Lane {
                part: BacklogPart {
                    webhook,
                    kind,
                    shard,
                },
                page: VecDeque::new(),
                position: Position::Unread,
                began_at: Timestamp::ZERO,
                next_due_at: None,
            })
        });
        Self {
            tenant,
            parts: parts.collect(),
        }
    }

    /// Reads a page of each part that has none in memory.
    pub(super) async fn fill(
        &mut self,
        store: &(impl Drains + ?Sized),
        skip: &HashSet<DeliveryId>,
        now: Timestamp,
    ) -> Result<()> {
        for lane in &mut self.parts {
            lane.begin_again(now);
        }
        let tenant = &self.tenant;
        let empty = self.parts.iter_mut().filter(|lane| lane.can_read());
        let reads = empty.map(|lane| async move {
            let rows = store.backlog_rows(tenant, lane.part, PAGE, lane.cursor());
            lane.add(rows.await?, skip, now);
            Ok(())
        });
        let reads: Vec<_> = reads.collect();
        stream::iter(reads)
            .buffer_unordered(PARTS_AT_ONCE)
            .try_collect()
            .await
    }

    /// How many rows of a kind are due and in memory.
    pub(super) fn count(&self, kind: AttemptKind) -> usize {
        self.of(kind).map(|lane| lane.page.len()).sum()
    }

    pub(super) fn has_due(&self) -> bool {
        self.parts.iter().any(|lane| !lane.page.is_empty())
    }

    /// Whether a part has rows that were not read and may be due, and none in memory.
    pub(super) fn has_more(&self) -> bool {
        self.parts.iter().any(Lane::can_read)
    }

    /// When the most overdue row of a kind was due.
    pub(super) fn oldest(&self, kind: AttemptKind) -> Option<Timestamp> {
        self.of(kind).filter_map(Lane::head).min()
    }

    pub(super) fn waiting(&self) -> Waiting {
        Waiting {
            first_due_at: self.oldest(AttemptKind::First),
            retry_due_at: self.oldest(AttemptKind::Retry),
        }
    }

    /// Takes the most overdue rows of a kind.
    pub(super) fn take(&mut self, kind: AttemptKind, count: usize) -> Vec<AttemptMessage> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count {
            let lanes = self.parts.iter_mut().filter(|lane| lane.part.kind == kind);
            let oldest = lanes
                .filter_map(|lane| Some((lane.head()?, lane)))
                .min_by_key(|(due_at, _)| *due_at);
            match oldest.and_then(|(_, lane)| lane.page.pop_front()) {
                Some(message) => taken.push(message),
                None => break,
            }
        }
        taken
    }

    /// When the first row was or will be due.
    pub(super) fn first_due_at(&self) -> Option<Timestamp> {
        let dues = self
            .parts
            .iter()
            .filter_map(|lane| lane.head().or(lane.next_due_at));
        dues.min()
    }

    /// What the last passes over all parts found; `None` if there was no time to read all.
    pub(super) fn looked(&self) -> Option<Looked> {
        let began_at = self.parts.iter().map(|lane| match lane.position {
            Position::Unread => None,
            Position::After(_) | Position::End => Some(lane.began_at),
        });
        let at = began_at.collect::<Option<Vec<_>>>()?.into_iter().min()?;
        Some(Looked {
            at,
            first_due_at: self.first_due_at(),
        })
    }

    fn of(&self, kind: AttemptKind) -> impl Iterator<Item = &Lane> {
        self.parts.iter().filter(move |lane| lane.part.kind == kind)
    }
}

impl Lane {
    fn head(&self) -> Option<Timestamp> {
        self.page.front().map(|message| message.next_retry_at)
    }

    fn can_read(&self) -> bool {
        self.page.is_empty()
            && match self.position {
                Position::Unread | Position::After(_) => true,
                Position::End => false,
            }
    }

    fn cursor(&self) -> Option<&Cursor> {
        match &self.position {
            Position::After(cursor) => Some(cursor),
            Position::Unread | Position::End => None,
        }
    }

    fn begin_again(&mut self, now: Timestamp) {
        let at_end = matches!(self.position, Position::End) && self.page.is_empty();
        let is_due = self.next_due_at.is_some_and(|due_at| due_at <= now);
        if at_end && (is_due || now.since(self.began_at) >= READ_AGAIN_AFTER) {
            self.position = Position::Unread;
        }
    }

    fn add(&mut self, rows: Rows, skip: &HashSet<DeliveryId>, now: Timestamp) {
        if matches!(self.position, Position::Unread) {
            self.began_at = now;
            self.next_due_at = None;
        }
        let due = rows
            .messages
            .partition_point(|message| message.next_retry_at <= now);
        self.next_due_at = rows.messages.get(due).map(|message| message.next_retry_at);
        self.position = match rows.next {
            Some(cursor) if self.next_due_at.is_none() => Position::After(cursor),
            Some(_) | None => Position::End,
        };
        let due = rows.messages.into_iter().take(due);
        self.page
            .extend(due.filter(|message| !skip.contains(&message.id)));
    }
}

#[cfg(test)]
mod tests {
    use postrider_testkit::builders::{NOW, after, event_id, webhook_id};

    use super::*;

    /// The `n`-th row, due this many seconds after [`NOW`].
    fn message(n: u32, due: u64) -> AttemptMessage {
        AttemptMessage {
            tenant: TenantId::default(),
            id: DeliveryId {
                event: event_id(n),
                webhook: webhook_id(1),
            },
            next_retry_at: after(due),
            fresh: false,
        }
    }

    fn last_page(dues: &[u64]) -> Rows {
        let messages = (1..).zip(dues).map(|(n, due)| message(n, *due));
        Rows {
            messages: messages.collect(),
            next: None,
        }
    }

    /// A page that is not the last one of its part.
    fn page(dues: &[u64]) -> Rows {
        Rows {
            next: Some(Cursor("next".to_owned())),
            ..last_page(dues)
        }
    }

    /// One part for retries and one for first attempts.
    fn lanes() -> Lanes {
        Lanes::new(TenantId::default(), webhook_id(1), 1)
    }

    fn add(lanes: &mut Lanes, kind: AttemptKind, rows: Rows, now: Timestamp) {
        let lane = lanes.parts.iter_mut().find(|lane| lane.part.kind == kind);
        lane.unwrap().add(rows, &HashSet::new(), now);
    }

    /// A lane that has read this at [`NOW`].
    fn lane(rows: Rows) -> Lane {
        let mut lane = lanes().parts.remove(0);
        lane.add(rows, &HashSet::new(), NOW);
        lane
    }

    fn is_read_again(mut lane: Lane, now: Timestamp) -> bool {
        lane.begin_again(now);
        matches!(lane.position, Position::Unread)
    }

    #[test]
    fn each_kind_waits_since_its_most_overdue_row_was_due() {
        let mut lanes = lanes();
        add(&mut lanes, AttemptKind::First, last_page(&[1, 3]), after(9));
        add(&mut lanes, AttemptKind::Retry, last_page(&[2, 4]), after(9));
        let waiting = Waiting {
            first_due_at: Some(after(1)),
            retry_due_at: Some(after(2)),
        };
        assert_eq!(lanes.waiting(), waiting);
    }

    #[test]
    fn a_look_tells_when_the_first_row_was_or_will_be_due() {
        for (due, now) in [(1, after(9)), (9, NOW)] {
            let mut lanes = lanes();
            add(&mut lanes, AttemptKind::First, last_page(&[due, 20]), now);
            add(&mut lanes, AttemptKind::Retry, last_page(&[10]), now);
            let looked = Looked {
                at: now,
                first_due_at: Some(after(due)),
            };
            assert_eq!(lanes.looked(), Some(looked));
        }
    }

    #[test]
    fn a_look_began_when_the_part_that_was_read_first_was() {
        let mut lanes = lanes();
        add(&mut lanes, AttemptKind::Retry, last_page(&[]), NOW);
        assert_eq!(lanes.looked(), None, "first attempts were not read");
        add(&mut lanes, AttemptKind::First, last_page(&[]), after(1));
        assert_eq!(lanes.looked().map(|looked| looked.at), Some(NOW));
    }

    #[test]
    fn a_part_is_not_read_beyond_a_row_that_is_not_due() {
        assert!(lane(page(&[])).can_read());
        assert!(!lane(page(&[60])).can_read());
    }

    #[test]
    fn a_part_that_was_read_to_its_end_is_read_again_after_five_seconds() {
        let empty = || lane(last_page(&[]));
        assert!(!is_read_again(empty(), after(4)));
        assert!(is_read_again(empty(), after(5)));
    }

    #[test]
    fn a_part_is_read_again_as_soon_as_its_next_row_is_due() {
        let waiting = || lane(last_page(&[2]));
        assert!(!is_read_again(waiting(), after(1)));
        assert!(is_read_again(waiting(), after(2)));
    }

    #[test]
    fn a_part_is_read_to_its_end_before_it_is_read_again() {
        assert!(!is_read_again(lane(page(&[])), after(60)));
    }

    #[test]
    fn a_part_with_rows_in_memory_is_not_read_again() {
        assert!(!is_read_again(lane(last_page(&[0])), after(60)));
    }
}
