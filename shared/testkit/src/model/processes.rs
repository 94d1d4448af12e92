//! Two processes on the same data. Each can end, and another one opens the store.

use postrider_domain::delivery::LeaseOwner;

use super::command::Process;
use crate::store_suite::{Fixture, Handle};

pub(super) struct Processes {
    first: Handle,
    second: Handle,
    /// The one that carries out the command.
    pub(super) acting: Process,
}

impl Processes {
    pub(super) async fn begin(fixture: &dyn Fixture) -> Self {
        Self {
            first: fixture.handle(),
            second: fixture.another_process().await,
            acting: Process::First,
        }
    }

    pub(super) const fn handle(&self) -> &Handle {
        match self.acting {
            Process::First => &self.first,
            Process::Second => &self.second,
        }
    }

    pub(super) async fn reopen(self, fixture: &dyn Fixture) -> Self {
        drop(self.first);
        Self {
            first: fixture.reopen().await,
            ..self
        }
    }

    pub(super) async fn replace(self, fixture: &dyn Fixture) -> Self {
        drop(self.second);
        Self {
            second: fixture.another_process().await,
            ..self
        }
    }

    /// Whether a lease is void because its process has ended, which an embedded store notices.
    pub(super) fn is_void(&self, owner: &LeaseOwner) -> bool {
        let runs = |handle: &Handle| handle.process == owner.process;
        let is_embedded = self.first.embedded.is_some();
        is_embedded && !runs(&self.first) && !runs(&self.second)
    }
}
