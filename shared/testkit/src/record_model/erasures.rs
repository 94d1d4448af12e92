//! The records of erasures, under the same ids for both tenants.

use postrider_domain::ids::{ErasureId, KeyId};
use postrider_domain::time::Millis;
use postrider_ports::erasures::{Erased, Erasure, Progress, Subject};
use postrider_ports::history::Cursor;
use postrider_ports::jobs::Walk;
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};
use crate::builders;

#[derive(Clone, Debug)]
pub(super) enum ErasureCommand {
    Create,
    /// Reports progress, from the stored step or an earlier one.
    Progress {
        erasure: usize,
        seen: Seen,
        to: Reached,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Reached {
    Slice,
    End,
}

pub(super) fn command() -> impl Strategy<Value = ErasureCommand> {
    let to = prop_oneof![Just(Reached::Slice), Just(Reached::End)];
    prop_oneof![
        2 => Just(ErasureCommand::Create),
        3 => (any::<usize>(), command::seen(), to)
            .prop_map(|(erasure, seen, to)| ErasureCommand::Progress { erasure, seen, to }),
    ]
}

/// Oldest first.
pub(super) type Erasures = Vec<Erasure>;

impl Model {
    pub(super) async fn do_with_erasures(
        &mut self,
        command: &ErasureCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            ErasureCommand::Create => self.create_erasure().await,
            ErasureCommand::Progress { erasure, seen, to } => {
                self.progress_erasure(erasure, seen, to).await
            }
        }
    }

    fn erasure_id(&self, n: usize) -> ErasureId {
        ErasureId::from_bytes(self.common(n))
    }

    /// No two begin at the same moment: which of them is newer would be undefined.
    fn new_erasure(&mut self, n: usize) -> Erasure {
        self.now = self.now.plus(Millis::new(1));
        let session_id = Some(format!("session-{n}").parse().unwrap());
        let subject = if n.is_multiple_of(2) {
            Subject::Session { session_id }
        } else {
            let event_id = builders::event_id(1);
            Subject::Event { event_id }
        };
        let by = KeyId::from_bytes([1; 16]);
        Erasure::new(self.erasure_id(n), subject, by, self.now)
    }

    async fn create_erasure(&mut self) -> Result<(), TestCaseError> {
        let erasure = self.new_erasure(self.ours.erasures.len());
        self.ours.erasures.push(erasure.clone());
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let created = store.create_erasure(tenant, erasure).await;
        prop_assert_eq!(created, Ok(()));
        Ok(())
    }

    /// Of one of the erasures, or of the one after them, which does not exist.
    async fn progress_erasure(
        &mut self,
        erasure: usize,
        seen: Seen,
        to: Reached,
    ) -> Result<(), TestCaseError> {
        let place = erasure % (self.ours.erasures.len() + 1);
        let unknown = self.new_erasure(place);
        let known = self.ours.erasures.get(place).cloned();
        let next = self.next_erasure(known.unwrap_or(unknown), seen, to);
        let stored = self.ours.erasures.get_mut(place);
        let expected = stored.map(|stored| {
            *stored = stored.advanced_to(&next).unwrap_or_else(|| stored.clone());
            stored.clone()
        });
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let noted = store.progress_erasure(tenant, next).await;
        prop_assert_eq!(noted, Ok(expected));
        Ok(())
    }

    fn next_erasure(&mut self, known: Erasure, seen: Seen, to: Reached) -> Erasure {
        let n = self.draw();
        let step = match seen {
            Seen::Current => known.step + 1,
            Seen::Outdated => known.step,
        };
        let further = |progress: Progress| Progress {
            walk: Walk::after(Some(Cursor(format!("after {n}")))),
            slice: vec![builders::event_id(n)],
            ..progress
        };
        let (progress, ended_at) = match to {
            Reached::Slice => (known.progress.map(further), None),
            Reached::End => (None, Some(self.now)),
        };
        let events = u64::from(n);
        let erased = Erased {
            events,
            ..known.erased
        };
        Erasure {
            ended_at,
            erased,
            progress,
            step,
            ..known
        }
    }

    pub(super) async fn compare_erasures(&self) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let expected = &self.ours.erasures;
        for n in 0..=expected.len() {
            let found = store.erasure(tenant, self.erasure_id(n)).await.unwrap();
            prop_assert_eq!(found.as_ref(), expected.get(n));
        }
        let (mut listed, mut before) = (Vec::new(), None);
        while {
            let page = store.erasures(tenant, 2, before).await.unwrap();
            before = page.last().map(|erasure| erasure.id);
            let is_full = page.len() == 2;
            listed.extend(page);
            is_full
        } {}
        prop_assert!(listed.iter().eq(expected.iter().rev()), "{:?}", listed);
        let found = store.unfinished_erasures().await.unwrap().into_iter();
        let found = found.filter(|(of, _)| of == tenant);
        let mut found: Vec<_> = found.map(|(_, erasure)| erasure).collect();
        found.sort_by_key(|erasure| erasure.id);
        let unfinished = expected.iter().filter(|erasure| !erasure.has_ended());
        prop_assert!(found.iter().eq(unfinished), "unfinished: {:?}", found);
        Ok(())
    }
}
