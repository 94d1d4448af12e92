//! The two processes and two tenants of the models. Each process can end, and another one opens the store.

use postrider_domain::delivery::LeaseOwner;

use crate::store_suite::{Fixture, Handle};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Process {
    First,
    Second,
}

/// The tenant that a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Ours,
    Theirs,
}

pub(crate) struct Processes {
    first: Handle,
    second: Handle,
    /// The one that carries out the command.
    pub(crate) acting: Process,
}

impl Processes {
    pub(crate) async fn begin(fixture: &dyn Fixture) -> Self {
        Self {
            first: fixture.handle(),
            second: fixture.another_process().await,
            acting: Process::First,
        }
    }

    pub(crate) const fn handle(&self) -> &Handle {
        match self.acting {
            Process::First => &self.first,
            Process::Second => &self.second,
        }
    }

    pub(crate) const fn first(&self) -> &Handle {
        &self.first
    }

    pub(crate) async fn reopen(self, fixture: &dyn Fixture) -> Self {
        drop(self.first);
        Self {
            first: fixture.reopen().await,
            ..self
        }
    }

    pub(crate) async fn replace(self, fixture: &dyn Fixture) -> Self {
        drop(self.second);
        Self {
            second: fixture.another_process().await,
            ..self
        }
    }

    /// Whether a lease is void because its process has ended, which an embedded store notices.
    pub(crate) fn is_void(&self, owner: &LeaseOwner) -> bool {
        let runs = |handle: &Handle| handle.process == owner.process;
        let is_embedded = self.first.embedded.is_some();
        is_embedded && !runs(&self.first) && !runs(&self.second)
    }
}
