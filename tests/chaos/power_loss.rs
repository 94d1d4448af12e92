//! What a power loss leaves of the gateway's files, and whether everything acknowledged is still there.
//!
//! `kill -9` leaves the page cache intact, so it cannot show a missing sync. Here an unchanged gateway runs with
//! `shared/disk-recorder`, which records each change of a file, each sync and each response. From that journal,
//! [`Disk`] derives what the disk could hold at any point: all that was synced, and of the rest any part, down to single
//! sectors. Directory entries follow the same rule: a new file whose directory was not synced may be gone.

mod acknowledgements;
mod audit;
mod content;
mod disk;
mod flaws;
mod image;
mod journal;
mod recording;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use postrider_flow_model::random::Random;

use self::audit::Verdict;
pub use self::disk::Disk;
pub use self::flaws::Flaw;
pub use self::image::Image;
pub use self::journal::Record;
pub use self::recording::{Point, Recording, begin, start, take, variables};
use crate::chaos::SETTLED;
use crate::chaos::auditor::Auditor;
use crate::chaos::publishers::Publishers;
use crate::command::{PATIENCE, Serve};

/// Makes the log long enough for checkpoints: their syncs are others than those of a commit.
const PADDING: usize = 16_000;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How often the gateway runs until the power fails. Each run starts on what the last one left.
    pub runs: usize,
    /// How long a run is under load.
    pub life: Duration,
    /// How many points of each run are examined.
    pub points: usize,
    pub seed: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many possible states of the disk were examined.
    pub states: usize,
    /// Those that lack something acknowledged.
    pub lossy: usize,
    /// Those that a gateway cannot start on, or whose database is damaged.
    pub unusable: usize,
    /// The first of either, described.
    pub example: Option<String>,
}

impl Findings {
    fn add(&mut self, point: usize, verdict: Verdict) {
        self.states += 1;
        let description = match verdict {
            Verdict::Sound => return,
            Verdict::Lost(what) => {
                self.lossy += 1;
                what
            }
            Verdict::Unusable(why) => {
                self.unusable += 1;
                why
            }
        };
        let example = || format!("after record {point}: {description}");
        self.example.get_or_insert_with(example);
    }

    #[must_use]
    pub fn are_sound(&self) -> bool {
        self.lossy == 0 && self.unusable == 0
    }

    fn add_all(&mut self, other: Self) {
        self.states += other.states;
        self.lossy += other.lossy;
        self.unusable += other.unusable;
        self.example = self.example.take().or(other.example);
    }
}

/// The result of a series of power losses.
#[derive(Debug, Default)]
pub struct Report {
    pub findings: Findings,
    /// How many deliveries were acknowledged.
    pub acknowledged: usize,
    /// How many of those never arrived.
    pub lost: usize,
    /// Changes, syncs and responses that were recorded.
    pub records: usize,
    /// Pages that were copied from the log into the database.
    pub copied_pages: usize,
}

/// The directories of a test.
pub struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    /// # Panics
    /// When there is no room for temporary files.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("disk")).unwrap();
        Self { folder }
    }

    /// What is below it is recorded.
    #[must_use]
    pub fn disk(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// The gateway creates it.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.disk().join("data")
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn start(&self) -> PathBuf {
        self.folder.path().join("start")
    }

    fn examined(&self) -> PathBuf {
        self.folder.path().join("examined")
    }
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs the gateway under load until the power fails, again and again, and examines what each run could have left.
///
/// # Panics
/// When the gateway does not start.
pub async fn run(plan: Plan) -> Report {
    let stage = Stage::new();
    let mut auditor = Auditor::start().await;
    let mut random = Random::new(plan.seed);
    let mut report = Report::default();
    let mut image = Image::default();
    let mut promised = acknowledgements::Acknowledged::default();
    for round in 0..plan.runs {
        image.write_to(&stage.disk());
        let recording = load(&stage, &auditor.url(), round, plan.life, &promised).await;
        auditor.count();
        report.records += recording.len();
        report.copied_pages += recording.copied_pages();
        let seed = random.next();
        let found = recording.examine(plan.points, seed, &promised, &stage.examined());
        report.findings.add_all(found);
        (image, promised) = recording.end(&mut random, promised);
        image.write_to(&stage.examined());
        let left = audit::audit(&stage.examined().join("data"), &promised);
        report.findings.add(recording.len(), left);
        report.acknowledged = promised.deliveries().count();
        if !report.findings.are_sound() {
            return report;
        }
    }
    image.write_to(&stage.disk());
    let ids: Vec<String> = promised.deliveries().collect();
    report.lost = missing_in_the_end(&stage.data(), &mut auditor, &ids).await;
    report
}

/// Starts a gateway without the recorder and waits for the deliveries.
async fn missing_in_the_end(data: &Path, auditor: &mut Auditor, ids: &[String]) -> usize {
    let last = Serve::start_in(data, &super::SETTINGS).await;
    // Count what is missing after the wait.
    let _ = tokio::time::timeout(PATIENCE, auditor.saw_all(ids)).await;
    for delivery in ids.iter().rev().take(SETTLED) {
        last.settled(delivery).await;
    }
    auditor.missing(ids)
}

/// One run under load, which ends with a kill.
async fn load(
    stage: &Stage,
    receiver: &str,
    round: usize,
    life: Duration,
    promised: &acknowledgements::Acknowledged,
) -> Recording {
    let mut gateway = start(stage).await;
    let webhook = match promised.webhook() {
        Some(webhook) => webhook.to_owned(),
        None => gateway.webhook(receiver, &super::retry()).await,
    };
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let publishers = Publishers::start(&gateway.url, &webhook, (round, PADDING), &acknowledged);
    let _ = tokio::time::timeout(life, std::future::pending::<()>()).await;
    gateway.kill().await;
    publishers.stop().await;
    let recording = take(stage);
    recording.assert_complete(&acknowledged.lock());
    recording
}

/// Records the first run of a gateway, from an empty disk.
///
/// # Panics
/// When the gateway does not start.
pub async fn record_first_run(life: Duration) -> Recording {
    let stage = Stage::new();
    let auditor = Auditor::start().await;
    let nothing = acknowledgements::Acknowledged::default();
    load(&stage, &auditor.url(), 0, life, &nothing).await
}
