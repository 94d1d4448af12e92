//! What a file contains on disk, and what only the page cache has.

use std::collections::BTreeMap;

use postrider_flow_model::random::Random;

/// The unit that a disk writes as a whole.
const SECTOR: usize = 512;

/// A change of a file.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Resize(usize),
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Write { at, bytes } => {
                let end = at + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*at..end].copy_from_slice(bytes);
            }
            Self::Resize(length) => file.resize(*length, 0),
        }
    }
}

/// What becomes of the changes of a file that were not synced.
#[derive(Clone, Copy)]
enum Fate {
    Lost,
    Kept,
    /// The disk was written in order, up to some change.
    Prefix,
    /// The disk was written in any order, sector by sector.
    Torn,
}

const FATES: [Fate; 4] = [Fate::Lost, Fate::Kept, Fate::Prefix, Fate::Torn];

#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    synced: Vec<u8>,
    /// With the position of each in the journal.
    changes: Vec<(usize, Change)>,
}

impl Content {
    pub(super) fn synced(bytes: Vec<u8>) -> Self {
        Self {
            synced: bytes,
            changes: Vec::new(),
        }
    }

    pub(super) fn change(&mut self, position: usize, change: Change) {
        self.changes.push((position, change));
    }

    /// A sync that began at this position has ended.
    pub(super) fn sync(&mut self, began: usize) {
        let covered = self.changes.partition_point(|(at, _)| *at < began);
        for (_, change) in self.changes.drain(..covered) {
            change.apply(&mut self.synced);
        }
    }

    pub(super) fn with_everything(&self) -> Vec<u8> {
        self.with_first(self.changes.len())
    }

    fn with_first(&self, count: usize) -> Vec<u8> {
        let mut file = self.synced.clone();
        for (_, change) in &self.changes[..count] {
            change.apply(&mut file);
        }
        file
    }

    pub(super) fn after_power_loss(&self, random: &mut Random) -> Vec<u8> {
        match FATES[below(random, FATES.len())] {
            Fate::Lost => self.synced.clone(),
            Fate::Kept => self.with_everything(),
            Fate::Prefix => self.with_first(below(random, self.changes.len() + 1)),
            Fate::Torn => self.torn(random),
        }
    }

    /// Each sector, and the length, is as some change since the last sync has left it.
    fn torn(&self, random: &mut Random) -> Vec<u8> {
        let length = self.with_first(below(random, self.changes.len() + 1)).len();
        let mut versions: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        let mut file = self.synced.clone();
        for (_, change) in &self.changes {
            let before = file.len();
            change.apply(&mut file);
            let (start, end) = match change {
                Change::Write { at, bytes } => ((*at).min(before), at + bytes.len()),
                Change::Resize(length) => (before.min(*length), before.max(*length)),
            };
            for sector in start / SECTOR..end.div_ceil(SECTOR) {
                versions
                    .entry(sector)
                    .or_default()
                    .push(piece(&file, sector));
            }
        }
        let mut torn = self.synced.clone();
        torn.resize(length, 0);
        for (sector, versions) in versions {
            // The last choice is what was synced.
            if let Some(version) = versions.get(below(random, versions.len() + 1)) {
                let start = (sector * SECTOR).min(length);
                let end = (start + version.len()).min(length);
                torn[start..end].copy_from_slice(&version[..end - start]);
            }
        }
        torn
    }
}

/// A sector of a file, filled up with zeros.
fn piece(file: &[u8], sector: usize) -> Vec<u8> {
    let start = (sector * SECTOR).min(file.len());
    let end = (start + SECTOR).min(file.len());
    let mut piece = file[start..end].to_vec();
    piece.resize(SECTOR, 0);
    piece
}

pub(super) fn below(random: &mut Random, bound: usize) -> usize {
    usize::try_from(random.below(bound as u64)).unwrap()
}
