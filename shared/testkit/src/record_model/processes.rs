//! Two processes on the same data. Each can end, and another one opens the store.

use super::command::Process;
use crate::store_suite::{Fixture, Handle};

pub(super) struct Processes {
    first: Handle,
    second: Handle,
    /// The one that carries out the command.
    pub(super) acting: Process,
}

impl Processes {
    pub(super) async fn begin(fixture: &impl Fixture) -> Self {
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

    pub(super) const fn first(&self) -> &Handle {
        &self.first
    }

    pub(super) async fn reopen(self, fixture: &impl Fixture) -> Self {
        drop(self.first);
        Self {
            first: fixture.reopen().await,
            ..self
        }
    }

    pub(super) async fn replace(self, fixture: &impl Fixture) -> Self {
        drop(self.second);
        Self {
            second: fixture.another_process().await,
            ..self
        }
    }
}
