//! The catalogue of event types, under the same names for both tenants.

use std::collections::BTreeMap;

use postrider_domain::event_catalogue::{CatalogueDraft, CatalogueEntry, Lifecycle};
use postrider_domain::pattern::EventType;
use proptest::prelude::*;
use serde_json::json;

use super::Model;
use super::tenants::Exists;
use super::version::Raised;

const NAMES: [&str; 4] = ["order", "order.paid", "order.paid/eu#1", "z"];

#[derive(Clone, Debug)]
pub(super) enum EventTypeCommand {
    Put { name: usize },
    Delete { name: usize },
}

pub(super) fn command() -> impl Strategy<Value = EventTypeCommand> {
    let name = || 0..NAMES.len();
    prop_oneof![
        3 => name().prop_map(|name| EventTypeCommand::Put { name }),
        2 => name().prop_map(|name| EventTypeCommand::Delete { name }),
    ]
}

pub(super) type EventTypes = BTreeMap<&'static str, CatalogueEntry>;

impl Model {
    pub(super) async fn do_with_event_types(
        &mut self,
        command: &EventTypeCommand,
    ) -> Result<(), TestCaseError> {
        match *command {
            EventTypeCommand::Put { name } => {
                let entry = self.entry(NAMES[name]);
                self.ours.event_types.insert(NAMES[name], entry.clone());
                self.ours.raise(Raised::Yes);
                self.ours.exists(Exists::Perhaps);
                let put = self.store().put_event_type(&self.ours.tenant, entry);
                prop_assert_eq!(put.await, Ok(()));
            }
            EventTypeCommand::Delete { name } => {
                let existed = self.ours.event_types.remove(NAMES[name]).is_some();
                if existed {
                    self.ours.raise(Raised::Yes);
                }
                let (store, name) = (self.store(), event_type(NAMES[name]));
                let deleted = store.delete_event_type(&self.ours.tenant, &name).await;
                prop_assert_eq!(deleted, Ok(existed));
            }
        }
        self.compare_version().await
    }

    fn entry(&mut self, name: &str) -> CatalogueEntry {
        let n = self.draw();
        let draft = CatalogueDraft {
            description: Some(format!("entry {n}")).filter(|_| n.is_multiple_of(2)),
            schema: n.is_multiple_of(3).then(|| json!({"maxProperties": n})),
            lifecycle: Lifecycle::Deprecated,
            ..CatalogueDraft::default()
        };
        draft.check(event_type(name), self.now).unwrap()
    }

    pub(super) async fn compare_event_types(&self) -> Result<(), TestCaseError> {
        let (store, tenant) = (self.store(), &self.ours.tenant);
        let expected = &self.ours.event_types;
        let found = store.event_types(tenant).await.unwrap();
        let all: Vec<_> = expected.values().collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), all);
        for name in NAMES {
            let found = store.event_type(tenant, &event_type(name)).await.unwrap();
            prop_assert_eq!(found.as_ref(), expected.get(name));
        }
        Ok(())
    }
}

fn event_type(name: &str) -> EventType {
    name.parse().unwrap()
}
