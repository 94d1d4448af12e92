//! The entries of the catalogue by group.

use std::collections::BTreeMap;

use postrider_domain::event_catalogue::{CatalogueListing, EntryOwner, Lifecycle};

use crate::text::{self, Pill};

/// How much of a description a list shows.
const SHOWN_CHARS: usize = 180;

pub(super) struct Group {
    /// Empty for entries without one.
    pub(super) name: String,
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) description: String,
    pub(super) state: Option<Pill>,
    pub(super) has_schema: bool,
    pub(super) examples: usize,
    pub(super) is_shared: bool,
}

/// By name of the group, those without one last.
pub(super) fn grouped(home: &str, listed: &[CatalogueListing]) -> Vec<Group> {
    let mut groups: BTreeMap<(bool, String), Vec<Line>> = BTreeMap::new();
    for one in listed {
        let name = one.entry.group.clone().unwrap_or_default();
        let lines = groups.entry((name.is_empty(), name)).or_default();
        lines.push(line(home, one));
    }
    let groups = groups.into_iter();
    groups
        .map(|((_, name), lines)| Group { name, lines })
        .collect()
}

fn line(home: &str, listed: &CatalogueListing) -> Line {
    let entry = &listed.entry;
    Line {
        path: format!("{home}{}", super::path(&entry.name)),
        name: entry.name.as_str().to_owned(),
        description: text::short(
            entry.description.as_deref().unwrap_or_default(),
            SHOWN_CHARS,
        ),
        state: state(entry.lifecycle),
        has_schema: entry.schema.is_some(),
        examples: entry.examples.len(),
        is_shared: listed.owner == EntryOwner::Operator,
    }
}

pub(super) fn state(lifecycle: Lifecycle) -> Option<Pill> {
    let (class, text) = match lifecycle {
        Lifecycle::Current => return None,
        Lifecycle::Deprecated => ("failed", "Deprecated"),
        Lifecycle::Archived => ("parked", "Archived"),
    };
    let text = text.to_owned();
    Some(Pill { class, text })
}
