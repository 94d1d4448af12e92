//! Runs a gateway with the recorder, and examines what it recorded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use postrider_flow_model::random::Random;

use super::acknowledgements::Acknowledged;
use super::audit::audit;
use super::content::below;
use super::journal::{self, Record};
use super::{Disk, Findings, Flaw, Image, Stage};
use crate::chaos::SETTINGS;
use crate::command::{Serve, binary};

const RECORDER: &str = "libpostrider_disk_recorder.so";

/// What a process did, and what was on the disk before.
#[derive(Clone, Debug)]
pub struct Recording {
    start: Image,
    records: Vec<Record>,
}

/// Where the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    Between,
    /// After the last record: the process has reported success.
    End,
}

/// The variables that make a process record into the stage's journal.
///
/// # Panics
/// If the recorder was not built.
#[must_use]
pub fn variables(stage: &Stage) -> [(&'static str, PathBuf); 3] {
    let recorder = binary().with_file_name(RECORDER);
    assert!(
        recorder.is_file(),
        "build the recorder first: cargo build --workspace"
    );
    [
        ("LD_PRELOAD", recorder),
        ("DISK_RECORDER_ROOT", stage.disk()),
        ("DISK_RECORDER_JOURNAL", stage.journal()),
    ]
}

/// Takes the disk as it is for the start of a recording.
pub fn begin(stage: &Stage) {
    Image::of(&stage.disk()).write_to(&stage.start());
}

/// Starts a gateway on the stage's disk and records what it does.
pub async fn start(stage: &Stage) -> Serve {
    begin(stage);
    let variables = variables(stage);
    let variables = variables
        .iter()
        .map(|(name, path)| (*name, path.to_str().unwrap()));
    let settings: Vec<(&str, &str)> = SETTINGS.into_iter().chain(variables).collect();
    Serve::start_in(&stage.data(), &settings).await
}

/// The recording of a process that has ended.
///
/// # Panics
/// When it did not record.
#[must_use]
pub fn take(stage: &Stage) -> Recording {
    let records = journal::read(&stage.journal(), &stage.disk());
    std::fs::remove_file(stage.journal()).unwrap();
    Recording {
        start: Image::of(&stage.start()),
        records,
    }
}

impl Recording {
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a gateway that started has written"
    )]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// What would have been recorded of a gateway with this flaw.
    #[must_use]
    pub fn with(self, flaw: Flaw) -> Self {
        Self {
            start: self.start,
            records: flaw.apply(self.records),
        }
    }

    /// What the process left, as other processes see it.
    #[must_use]
    pub fn result(&self) -> Image {
        let mut disk = Disk::new(&self.start);
        self.records.iter().for_each(|record| disk.apply(record));
        disk.with_everything()
    }

    /// How many pages were copied from the log into the database.
    #[must_use]
    pub fn copied_pages(&self) -> usize {
        let mut database = None;
        let mut pages = 0;
        for record in &self.records {
            if let Record::Created { inode, path } | Record::Opened { inode, path } = record
                && path.ends_with("postrider.db")
            {
                database = Some(*inode);
            }
            if let Record::Wrote { inode, .. } = record
                && database == Some(*inode)
            {
                pages += 1;
            }
        }
        pages
    }

    /// How many syncs of the log ended before each `202`, since the one before.
    #[must_use]
    pub fn syncs_per_acknowledgement(&self) -> Vec<usize> {
        let (mut log, mut syncs, mut counts) = (None, 0, Vec::new());
        for record in &self.records {
            match record {
                Record::Created { inode, path } | Record::Opened { inode, path }
                    if path.ends_with("postrider.db-wal") =>
                {
                    log = Some(*inode);
                }
                Record::SyncEnded { inode, .. } if log == Some(*inode) => syncs += 1,
                Record::Responded(response) if response.starts_with(b"HTTP/1.1 202") => {
                    counts.push(std::mem::take(&mut syncs));
                }
                Record::Created { .. }
                | Record::Opened { .. }
                | Record::Wrote { .. }
                | Record::Resized { .. }
                | Record::SyncBegan { .. }
                | Record::SyncEnded { .. }
                | Record::Linked { .. }
                | Record::Renamed { .. }
                | Record::Removed { .. }
                | Record::MadeDirectory { .. }
                | Record::Responded(_) => {}
            }
        }
        counts
    }

    pub(super) fn assert_complete(&self, seen: &[String]) {
        let mut recorded = Acknowledged::default();
        self.records.iter().for_each(|record| recorded.add(record));
        let recorded: BTreeSet<String> = recorded.deliveries().collect();
        let unrecorded = seen.iter().filter(|id| !recorded.contains(*id)).count();
        assert_eq!(unrecorded, 0, "of {} responses", seen.len());
    }

    /// Lets the power fail at so many points, half of them right after a response, and looks for what was acknowledged
    /// before each point.
    #[must_use]
    pub fn examine_first_run(&self, points: usize, seed: u64) -> Findings {
        let folder = tempfile::tempdir().unwrap();
        let nothing = Acknowledged::default();
        self.examine(points, seed, &nothing, &folder.path().join("disk"))
    }

    pub(super) fn examine(
        &self,
        points: usize,
        seed: u64,
        before: &Acknowledged,
        scratch: &Path,
    ) -> Findings {
        let mut random = Random::new(seed);
        let points = self.after_responses(points, &mut random);
        let mut findings = Findings::default();
        self.fail_at(&points, &mut random, &mut |index, image| {
            let mut acknowledged = before.clone();
            let earlier = self.records.iter().take(index + 1);
            earlier.for_each(|record| acknowledged.add(record));
            image.write_to(scratch);
            findings.add(index, audit(&scratch.join("data"), &acknowledged));
        });
        findings
    }

    /// Lets the power fail at so many points, and at the end.
    pub fn fail_anywhere(&self, points: usize, seed: u64, look: &mut dyn FnMut(Point, Image)) {
        let mut random = Random::new(seed);
        let last = self.records.len() - 1;
        let drawn = (0..points).map(|_| below(&mut random, last + 1));
        let points: BTreeSet<usize> = drawn.chain([last]).collect();
        self.fail_at(&points, &mut random, &mut |index, image| {
            let point = if index == last {
                Point::End
            } else {
                Point::Between
            };
            look(point, image);
        });
    }

    fn fail_at(
        &self,
        points: &BTreeSet<usize>,
        random: &mut Random,
        look: &mut dyn FnMut(usize, Image),
    ) {
        let mut disk = Disk::new(&self.start);
        for (index, record) in self.records.iter().enumerate() {
            disk.apply(record);
            if points.contains(&index) {
                look(index, disk.after_power_loss(random));
            }
        }
    }

    fn after_responses(&self, count: usize, random: &mut Random) -> BTreeSet<usize> {
        let is_response = |index: &usize| matches!(self.records[*index], Record::Responded(_));
        let responses: Vec<usize> = (0..self.records.len()).filter(is_response).collect();
        let mut points = BTreeSet::from([self.records.len() - 1]);
        for _ in 0..count / 2 {
            points.insert(responses[below(random, responses.len())]);
            points.insert(below(random, self.records.len()));
        }
        points
    }

    /// What a power loss at the end leaves, and all that was acknowledged.
    pub(super) fn end(&self, random: &mut Random, before: Acknowledged) -> (Image, Acknowledged) {
        let mut disk = Disk::new(&self.start);
        let mut acknowledged = before;
        for record in &self.records {
            disk.apply(record);
            acknowledged.add(record);
        }
        (disk.after_power_loss(random), acknowledged)
    }
}
