//! Bulk retries and their progress, under the same ids for both tenants.

use postrider_domain::event::Label;
use postrider_domain::ids::JobId;
use postrider_ports::history::{Cursor, Filter};
use postrider_ports::jobs::{JobState, ListedRow, RetryJob, Walk};
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};
use crate::builders;

#[derive(Clone, Debug)]
pub(super) enum JobCommand {
    /// One that selects by a session, or not.
    Create {
        selects: bool,
    },
    /// Reports progress, from the stored step or an earlier one.
    Progress {
        job: usize,
        seen: Seen,
        to: Reached,
    },
    Cancel {
        job: usize,
    },
    EraseSession,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Reached {
    BetweenSlices,
    WithinSlice,
    End,
}

/// Numbers choose among so many jobs, so that commands meet.
const JOBS: usize = 3;

pub(super) fn command() -> impl Strategy<Value = JobCommand> {
    let number = || 0..JOBS;
    let to = prop_oneof![
        1 => Just(Reached::BetweenSlices),
        3 => Just(Reached::WithinSlice),
        1 => Just(Reached::End),
    ];
    prop_oneof![
        3 => any::<bool>().prop_map(|selects| JobCommand::Create { selects }),
        5 => (number(), command::seen(), to)
            .prop_map(|(job, seen, to)| JobCommand::Progress { job, seen, to }),
        4 => number().prop_map(|job| JobCommand::Cancel { job }),
        1 => Just(JobCommand::EraseSession),
    ]
}

pub(super) type Jobs = Vec<RetryJob>;

impl Model {
    pub(super) async fn do_with_jobs(&mut self, command: &JobCommand) -> Result<(), TestCaseError> {
        match *command {
            JobCommand::Create { selects } => self.create_job(selects).await,
            JobCommand::Progress { job, seen, to } => self.progress_job(job, seen, to).await,
            JobCommand::Cancel { job } => self.cancel_job(job).await,
            JobCommand::EraseSession => self.erase_from_jobs().await,
        }
    }

    fn job_id(&self, n: usize) -> JobId {
        JobId::from_bytes(self.common(n))
    }

    /// One of the jobs, or the one after them, which does not exist.
    fn job_at(&self, n: usize) -> usize {
        n % (self.ours.jobs.len() + 1)
    }

    async fn create_job(&mut self, selects: bool) -> Result<(), TestCaseError> {
        let filter = Filter {
            session_id: selects.then(session),
            to: Some(self.now),
            ..Filter::default()
        };
        let id = self.job_id(self.ours.jobs.len());
        let job = RetryJob::new(id, filter, self.now);
        self.ours.jobs.push(job.clone());
        let created = self.store().create_job(&self.ours.tenant, job).await;
        prop_assert_eq!(created, Ok(()));
        Ok(())
    }

    async fn progress_job(
        &mut self,
        job: usize,
        seen: Seen,
        to: Reached,
    ) -> Result<(), TestCaseError> {
        let (place, n) = (self.job_at(job), u64::from(self.draw()));
        let id = self.job_id(place);
        let unknown = || RetryJob::new(id, Filter::default(), self.now);
        let known = self.ours.jobs.get(place).cloned().unwrap_or_else(unknown);
        let next = self.next_of(&known, seen, to, n);
        let stored = self.ours.jobs.get_mut(place);
        let expected = stored.map(|stored| {
            *stored = stored.advanced_to(&next).unwrap_or_else(|| stored.clone());
            stored.clone()
        });
        let noted = self.store().progress_job(&self.ours.tenant, next).await;
        prop_assert_eq!(noted, Ok(expected));
        Ok(())
    }

    fn next_of(&self, known: &RetryJob, seen: Seen, to: Reached, n: u64) -> RetryJob {
        let (state, slice, requeueing) = match to {
            Reached::BetweenSlices => (JobState::Running, Vec::new(), Walk::START),
            Reached::WithinSlice => {
                let event = builders::event(&self.ours.tenant, 1, self.now);
                let row = builders::row(&event, builders::webhook_id(1));
                let walk = Walk::after(Some(Cursor(format!("after {n}"))));
                (JobState::Running, vec![ListedRow::from(&row)], walk)
            }
            Reached::End => (JobState::Done, Vec::new(), Walk::Ended),
        };
        let step = match seen {
            Seen::Current => known.step + 1,
            Seen::Outdated => known.step,
        };
        RetryJob {
            state,
            slice,
            requeueing,
            step,
            done: n,
            ..known.clone()
        }
    }

    async fn cancel_job(&mut self, job: usize) -> Result<(), TestCaseError> {
        let place = self.job_at(job);
        let id = self.job_id(place);
        let stored = self.ours.jobs.get_mut(place);
        let expected = stored.map(|stored| {
            if stored.state == JobState::Running {
                stored.state = JobState::Cancelled;
            }
            stored.clone()
        });
        let cancelled = self.store().cancel_job(&self.ours.tenant, id).await;
        prop_assert_eq!(cancelled, Ok(expected));
        Ok(())
    }

    async fn erase_from_jobs(&mut self) -> Result<(), TestCaseError> {
        let (session, mut all_done) = (session(), true);
        for job in &mut self.ours.jobs {
            match job.without_session(&session) {
                Some(_) if job.is_unfinished() => all_done = false,
                Some(erased) => *job = erased,
                None => {}
            }
        }
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let erased = store.erase_from_jobs(tenant, &session).await;
        prop_assert_eq!(erased, Ok(all_done));
        Ok(())
    }

    pub(super) async fn compare_jobs(&self) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        for n in 0..=self.ours.jobs.len() {
            let found = store.job(tenant, self.job_id(n)).await.unwrap();
            prop_assert_eq!(found.as_ref(), self.ours.jobs.get(n));
        }
        let found = store.unfinished_jobs().await.unwrap().into_iter();
        let found = found.filter(|(of, _)| of == tenant);
        let mut found: Vec<_> = found.map(|(_, job)| job).collect();
        found.sort_by_key(|job| job.id);
        let expected = self.ours.jobs.iter().filter(|job| job.is_unfinished());
        prop_assert!(found.iter().eq(expected), "unfinished: {:?}", found);
        Ok(())
    }
}

fn session() -> Label {
    "session-1".parse().unwrap()
}
