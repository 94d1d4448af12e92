//! Sources, found by their tenant or by their id alone.

use postrider_domain::ids::SourceId;
use postrider_domain::secret::{SecretRing, SharedSecret};
use postrider_domain::source::{Source, SourceSettings};
use postrider_domain::time::Millis;
use postrider_ports::configs::{Changed, Created};
use postrider_ports::sources::SourceChange;
use proptest::prelude::*;

use super::Model;
use super::command::{self, Seen};
use crate::builders;

#[derive(Clone, Debug)]
pub(super) enum SourceCommand {
    Create,
    /// Changes a source as its operator last saw it, or earlier.
    Change {
        source: usize,
        seen: Seen,
    },
    Delete {
        source: usize,
    },
    /// Uses a source of the other tenant as if it were ours.
    Confuse {
        source: usize,
    },
}

pub(super) fn command() -> impl Strategy<Value = SourceCommand> {
    let number = any::<usize>;
    prop_oneof![
        3 => Just(SourceCommand::Create),
        3 => (number(), command::seen())
            .prop_map(|(source, seen)| SourceCommand::Change { source, seen }),
        2 => number().prop_map(|source| SourceCommand::Delete { source }),
        1 => number().prop_map(|source| SourceCommand::Confuse { source }),
    ]
}

#[derive(Default)]
pub(super) struct Sources {
    /// Every source as it was last, and whether it is stored.
    known: Vec<(Source, bool)>,
}

impl Sources {
    pub(super) fn stored(&self) -> Vec<&Source> {
        let stored = self.known.iter().filter(|(_, is_stored)| *is_stored);
        let mut stored: Vec<_> = stored.map(|(source, _)| source).collect();
        // As text, which is how stores write them.
        stored.sort_by_key(|source| source.id.to_string());
        stored
    }

    fn at(&self, n: usize) -> Option<&(Source, bool)> {
        super::nth(&self.known, n)
    }

    fn get_mut(&mut self, id: SourceId) -> Option<&mut (Source, bool)> {
        self.known.iter_mut().find(|(source, _)| source.id == id)
    }
}

impl Model {
    pub(super) async fn do_with_sources(
        &mut self,
        command: &SourceCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            SourceCommand::Create => self.create_source().await,
            SourceCommand::Change { source, seen } => self.change_source(source, seen).await,
            SourceCommand::Delete { source } => self.delete_source(source).await,
            SourceCommand::Confuse { source } => self.confuse_sources(source).await,
        }
    }

    pub(super) async fn create_source(&mut self) -> Result<(), TestCaseError> {
        let n = self.draw();
        let source = Source {
            id: SourceId::from_bytes(self.unique()),
            created_at: self.now,
            updated_at: self.now,
            ..builders::source(&self.ours.tenant, n)
        };
        self.ours.sources.known.push((source.clone(), true));
        let created = self.store().create_source(source).await;
        prop_assert_eq!(created, Ok(Created::Done));
        Ok(())
    }

    async fn change_source(&mut self, source: usize, seen: Seen) -> Result<(), TestCaseError> {
        let Some((known, is_stored)) = self.ours.sources.at(source).cloned() else {
            return Ok(());
        };
        let change = self.source_change(&known, seen);
        let expected = match seen {
            _ if !is_stored => Changed::Missing,
            Seen::Outdated => Changed::Outdated,
            Seen::Current => Changed::Done,
        };
        if let (Changed::Done, Some((stored, _))) = (expected, self.ours.sources.get_mut(known.id))
        {
            stored.settings = change.settings.clone();
            stored.secrets = change.secrets.clone();
            stored.updated_at = change.updated_at;
        }
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let changed = store.change_source(tenant, known.id, change).await;
        prop_assert_eq!(changed, Ok(expected));
        Ok(())
    }

    fn source_change(&mut self, known: &Source, seen: Seen) -> SourceChange {
        let n = self.draw();
        let moment = Millis::new(1);
        let secret = SharedSecret::parse(&format!("It's secret number {n} to everybody"));
        SourceChange {
            seen: match seen {
                Seen::Current => known.updated_at,
                Seen::Outdated => known.updated_at.minus(moment),
            },
            settings: SourceSettings {
                name: format!("change {n}"),
                ..known.settings.clone()
            },
            secrets: SecretRing::new(secret.unwrap()),
            updated_at: self.now.max(known.updated_at.plus(moment)),
        }
    }

    async fn delete_source(&mut self, source: usize) -> Result<(), TestCaseError> {
        let Some((Source { id, .. }, _)) = self.ours.sources.at(source).cloned() else {
            return Ok(());
        };
        let stored = self.ours.sources.get_mut(id);
        let existed = stored.is_some_and(|(_, is_stored)| std::mem::take(is_stored));
        self.ours.rejections.forget(id);
        let deleted = self.store().delete_source(&self.ours.tenant, id).await;
        prop_assert_eq!(deleted, Ok(existed));
        Ok(())
    }

    async fn confuse_sources(&mut self, source: usize) -> Result<(), TestCaseError> {
        let Some((theirs, _)) = self.theirs.sources.at(source).cloned() else {
            return Ok(());
        };
        let change = self.source_change(&theirs, Seen::Current);
        let (store, us) = (self.store(), &self.ours.tenant);
        prop_assert_eq!(store.source(us, theirs.id).await, Ok(None));
        let changed = store.change_source(us, theirs.id, change).await;
        prop_assert_eq!(changed, Ok(Changed::Missing));
        let deleted = store.delete_source(us, theirs.id).await;
        prop_assert_eq!(deleted, Ok(false));
        Ok(())
    }

    pub(super) async fn compare_sources(&self) -> Result<(), TestCaseError> {
        let (store, Sources { known }) = (self.store(), &self.ours.sources);
        let found = store.sources(&self.ours.tenant).await.unwrap();
        let expected = self.ours.sources.stored();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
        for (source, is_stored) in known {
            let expected = Some(source).filter(|_| *is_stored);
            let found = store.source(&self.ours.tenant, source.id).await.unwrap();
            prop_assert_eq!(found.as_ref(), expected);
            let found = store.source_by_id(source.id).await.unwrap();
            prop_assert_eq!(found.as_ref(), expected);
        }
        Ok(())
    }
}
