//! The crash loop with everything that a gateway does, and everything that can go wrong around it.
//!
//! Several webhooks whose receivers fail, hang, limit and recover; publishers with and without idempotency keys; inbound events;
//! operators who pause, resume and retry; e-mail and backups. Meanwhile the disk is full or broken, the process stands still, and
//! its clock jumps. Each life ends with `kill -9`, and the next one starts on exactly the files that were left.

mod audit;
mod clients;
mod control;
mod database;
mod mailbox;
mod receivers;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use postrider_flow_model::random::Random;
use serde_json::{Value, json};

pub use self::audit::{Bug, Seen};
use self::clients::{Clients, Known, Setup, secret};
use self::control::{Control, DiskFault, Stopped};
use self::database::Unfinished;
use self::mailbox::Mailbox;
use self::receivers::{Behaviour, Receivers};
use crate::command::{PATIENCE, Serve, binary};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// How far the clock jumps at most: notifications are deleted after a day, and are audited.
const LONGEST_JUMP_MS: i64 = 3 * HOUR_MS;
/// Ahead of anything that a clock which jumped has put off.
const LAST_MS: i64 = LONGEST_JUMP_MS + HOUR_MS;
/// Delivered rows are kept for 30 days.
const RETENTION_MS: i64 = 40 * DAY_MS;
/// So that what failed is soon delivered.
const RETRY_RATE: u32 = 300;
/// How often it is killed while it deletes old rows.
const KILLS_OF_RETENTION: u64 = 4;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub kills: usize,
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seen: Seen,
    pub acknowledged: usize,
    pub requests: usize,
    /// Deliveries that were in flight at a kill, over all kills.
    pub in_flight: usize,
    pub died: usize,
    pub emails: usize,
    pub rejected: usize,
    pub backups: usize,
    /// Promises that are broken.
    pub broken: Vec<String>,
}

impl Report {
    /// A line for each figure.
    #[must_use]
    pub fn in_words(&self) -> String {
        let figures = [
            ("acknowledged", self.acknowledged),
            ("requests", self.requests),
            ("attempts in flight at kills", self.in_flight),
            ("deaths", self.died),
            ("e-mails", self.emails),
            ("calls rejected", self.rejected),
            ("backups", self.backups),
            ("broken promises", self.broken.len()),
        ];
        let line = |(name, figure): &(&str, usize)| format!("  {name:<28} {figure:>8}\n");
        let mut words: String = figures.iter().map(line).collect();
        for broken in self.broken.iter().take(20) {
            words.push_str(broken);
            words.push('\n');
        }
        words
    }
}

/// What goes wrong in a life, besides its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    Nothing,
    Disk(DiskFault),
    StandsStill,
    ClockJumps,
    Backup,
}

impl Trouble {
    const ALL: [Self; 8] = [
        Self::Nothing,
        Self::ClockJumps,
        Self::Disk(DiskFault::Full),
        Self::StandsStill,
        Self::Disk(DiskFault::BrokenSyncs),
        Self::Backup,
        Self::Disk(DiskFault::BrokenWrites),
        Self::ClockJumps,
    ];
}

struct Stage {
    folder: tempfile::TempDir,
    control: Control,
    receivers: Receivers,
    mailbox: Mailbox,
    known: Arc<Known>,
    setup: Option<Arc<Setup>>,
    random: Random,
    seen: Seen,
    kills: u32,
    backups: usize,
}

/// Runs the loop.
///
/// # Panics
/// When the gateway does not start, or stops unexpectedly.
pub async fn run(plan: Plan) -> Report {
    let mut stage = Stage::new(plan.seed).await;
    for round in 0..plan.kills {
        stage.live(Trouble::ALL[round % Trouble::ALL.len()]).await;
    }
    stage.come_to_rest().await;
    let seen = stage.seen.clone();
    let mut broken = seen.audit();
    broken.extend(stage.expire().await);
    Report {
        acknowledged: seen.acknowledged.len(),
        requests: seen.posts.values().sum(),
        in_flight: seen.held.values().sum(),
        died: seen.died(),
        emails: seen.emails.iter().map(Vec::len).sum(),
        rejected: *stage.known.rejected.lock(),
        backups: stage.backups,
        broken,
        seen,
    }
}

impl Stage {
    async fn new(seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let control = Control::new(folder.path().join("control"));
        Self {
            control,
            folder,
            receivers: Receivers::start(webhooks().len()).await,
            mailbox: Mailbox::start().await,
            known: Arc::default(),
            setup: None,
            random: Random::new(seed),
            seen: Seen::default(),
            kills: 0,
            backups: 0,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    async fn start(&self) -> Serve {
        let data = self.data();
        let injector = self.control.variables(&data);
        let mail = self.mailbox.url();
        let settings: Vec<(&str, &str)> = super::SETTINGS
            .into_iter()
            .chain([
                ("POSTRIDER_SMTP_URL", mail.as_str()),
                ("POSTRIDER_MAIL_FROM", "gateway@example.com"),
                ("POSTRIDER_ALERT_ADDRESS", "owner@example.com"),
                // The gateway reports what is done to it.
                ("POSTRIDER_LOG", "off"),
            ])
            .chain(injector.iter().map(|(name, value)| (*name, value.as_str())))
            .collect();
        self.receivers.begin_life();
        Serve::start_in(&data, &settings).await
    }

    /// One life under load, which ends with a kill.
    async fn live(&mut self, trouble: Trouble) {
        let mut gateway = self.start().await;
        let setup = match &self.setup {
            Some(setup) => Arc::clone(setup),
            None => Arc::new(set_up(&gateway, &self.receivers).await),
        };
        self.setup = Some(Arc::clone(&setup));
        self.change_receivers();
        let clients = Clients::start(&gateway, &setup, &self.known, &mut self.random);
        self.pass(100, 500).await;
        if matches!(trouble, Trouble::Disk(_)) {
            self.seen.disk_failed.insert(self.receivers.life());
        }
        self.befall(trouble, &gateway).await;
        self.change_receivers();
        self.pass(50, 400).await;
        assert!(
            gateway.is_running(),
            "it stopped unexpectedly after {trouble:?}"
        );
        gateway.kill().await;
        self.kills += 1;
        self.control.recover();
        clients.stop().await;
        for id in super::in_flight(&self.data()) {
            *self.seen.held.entry(id).or_default() += 1;
        }
        self.end_life();
    }

    /// Lets load go on for a while.
    async fn pass(&mut self, least_ms: u64, more_ms: u64) {
        let time = Duration::from_millis(least_ms + self.random.below(more_ms));
        let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
    }

    fn end_life(&mut self) {
        let before: usize = self.seen.emails.iter().map(Vec::len).sum();
        let emails = self.mailbox.messages().split_off(before);
        self.seen.emails.resize(self.receivers.life(), Vec::new());
        self.seen.emails.push(emails);
    }

    /// The first receiver always works, so that there is always something to lose.
    fn change_receivers(&mut self) {
        for number in 1..webhooks().len() {
            let behaviour = match self.random.below(6) {
                0..3 => Behaviour::Works,
                3 => Behaviour::Fails,
                4 => Behaviour::Hangs,
                _ => Behaviour::Limits,
            };
            self.receivers.set(number, behaviour);
        }
    }

    async fn befall(&mut self, trouble: Trouble, gateway: &Serve) {
        match trouble {
            Trouble::Nothing => {}
            Trouble::Disk(fault) => {
                let one_in = 1 + u32::try_from(self.random.below(3)).unwrap();
                self.control.fail(fault, one_in);
                self.pass(50, 300).await;
                // Every second time the kill comes first.
                if self.random.below(2) == 0 {
                    self.control.recover();
                }
            }
            Trouble::StandsStill => {
                let stopped = Stopped::new(gateway);
                // Longer than the timeout of a webhook, sometimes.
                self.pass(200, 1200).await;
                drop(stopped);
            }
            Trouble::ClockJumps => {
                let most = LONGEST_JUMP_MS.unsigned_abs();
                let ahead = self.random.below(2 * most).cast_signed() - LONGEST_JUMP_MS;
                self.control.set_clock(ahead);
            }
            Trouble::Backup => self.back_up().await,
        }
    }

    /// Takes a backup of the running gateway, and looks for everything that was acknowledged before.
    async fn back_up(&mut self) {
        let before = self.known.acknowledged.lock().clone();
        let file = self.folder.path().join(format!("{}.backup", self.backups));
        let taken = tokio::process::Command::new(binary())
            .arg("--data")
            .arg(self.data())
            .arg("backup")
            .arg(&file)
            .env_clear()
            .output();
        let taken = tokio::time::timeout(PATIENCE, taken)
            .await
            .unwrap()
            .unwrap();
        if !taken.status.success() {
            let said = String::from_utf8_lossy(&taken.stderr).into_owned();
            self.seen.wrong.push(format!("a backup failed: {said}"));
            return;
        }
        self.backups += 1;
        let stored = database::read(&file);
        let is_complete = before.iter().all(|id| stored.rows.contains_key(id));
        if !is_complete || !stored.is_sound {
            let wrong = format!("{} lacks something acknowledged", file.display());
            self.seen.wrong.push(wrong);
        }
    }

    /// All receivers work, an operator resumes every webhook and retries everything dead, until all is delivered.
    async fn come_to_rest(&mut self) {
        for number in 0..webhooks().len() {
            self.receivers.set(number, Behaviour::Works);
        }
        self.control.set_clock(LAST_MS);
        let mut gateway = self.start().await;
        let rest = async {
            let setup = self.setup.clone().expect("it lived before");
            let mut looks = tokio::time::interval(Duration::from_millis(200));
            loop {
                looks.tick().await;
                let unfinished = database::unfinished(&self.data());
                let Unfinished {
                    open, dead, emails, ..
                } = unfinished;
                if (open, dead, emails) == (0, 0, 0) {
                    return;
                }
                // Each resume makes the gateway begin slowly again.
                for webhook in &setup.webhooks {
                    let path = format!("/v1/webhooks/{webhook}");
                    let shown = gateway.call(Method::GET, &path, None).await;
                    if shown["status"] != "active" {
                        let path = format!("{path}/resume");
                        gateway.call(Method::POST, &path, None).await;
                    }
                }
                if dead > 0 {
                    let all = json!({"filter": {}});
                    gateway.call(Method::POST, "/v1/retries", Some(all)).await;
                }
            }
        };
        // What is unfinished after that shows in the audit. Each kill leaves some deliveries to be retried.
        let longest = PATIENCE + Duration::from_secs(1) * self.kills;
        let _ = tokio::time::timeout(longest, rest).await;
        assert!(gateway.terminate().await);
        self.end_life();
        self.see();
    }

    fn see(&mut self) {
        let stored = database::read(&self.data().join("postrider.db"));
        let seen = &mut self.seen;
        seen.stored = stored;
        seen.acknowledged = self.known.acknowledged.lock().clone();
        seen.wrong.append(&mut self.known.wrong.lock());
        seen.overlaps = self.receivers.overlaps();
        let mut posts: HashMap<String, usize> = HashMap::new();
        let mut accepted = BTreeSet::new();
        for arrival in self.receivers.arrivals() {
            *posts.entry(arrival.delivery.clone()).or_default() += 1;
            if arrival.is_accepted {
                accepted.insert(arrival.delivery);
            }
        }
        (seen.posts, seen.accepted) = (posts, accepted);
    }

    /// Weeks later, old rows are deleted, also by a gateway that is killed meanwhile.
    async fn expire(&mut self) -> Vec<String> {
        self.control.set_clock(LAST_MS + RETENTION_MS);
        for _ in 0..KILLS_OF_RETENTION {
            let mut gateway = self.start().await;
            self.pass(150, 150).await;
            gateway.kill().await;
        }
        let mut gateway = self.start().await;
        let file = self.data();
        let gone = async {
            let mut looks = tokio::time::interval(Duration::from_millis(200));
            while database::unfinished(&file).all > 0 {
                looks.tick().await;
            }
        };
        let are_gone = tokio::time::timeout(PATIENCE, gone).await.is_ok();
        assert!(gateway.terminate().await);
        let left = database::read(&file.join("postrider.db"));
        let mut broken = Vec::new();
        if !are_gone {
            let rows = left.rows.len();
            broken.push(format!("{rows} rows are left after their retention"));
        }
        if left.orphans > 0 || !left.is_sound {
            broken.push("retention left orphans or a damaged file".to_owned());
        }
        broken
    }
}

impl Seen {
    fn died(&self) -> usize {
        let notifications = self.stored.notifications.iter();
        let dead = notifications.filter(|(kind, _)| kind == "delivery.dead");
        dead.count()
    }
}

/// The settings of each webhook, but for its URL.
fn webhooks() -> [Value; 6] {
    let often = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 100});
    let once = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 1});
    let fails = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 2, "on_exhausted": "fail-webhook"});
    [
        json!({"name": "works", "event_types": ["*"], "retry": often}),
        json!({"name": "retries", "event_types": ["all.*"], "retry": often, "timeout_seconds": 1}),
        json!({"name": "gives up", "event_types": ["all.*"], "retry": once, "timeout_seconds": 1}),
        json!({"name": "fails", "event_types": ["all.*", "some.*"], "retry": fails, "timeout_seconds": 1,
               "auto_resume": true}),
        json!({"name": "is limited", "event_types": ["all.*"], "retry": often, "timeout_seconds": 1, "max_rate": 50}),
        json!({"name": "one at a time", "event_types": ["some.*"], "retry": often, "timeout_seconds": 1,
               "max_in_flight": 2}),
    ]
}

async fn set_up(gateway: &Serve, receivers: &Receivers) -> Setup {
    let mut ids = Vec::new();
    for (number, mut webhook) in webhooks().into_iter().enumerate() {
        webhook["target_url"] = receivers.url(number).into();
        webhook["retry_rate"] = RETRY_RATE.into();
        let created = gateway
            .call(Method::POST, "/v1/webhooks", Some(webhook))
            .await;
        ids.push(created["id"].as_str().unwrap().to_owned());
    }
    let secret = secret().expose().to_owned();
    let route =
        |webhook: &String| json!({"event_type": "*", "intent": "review", "webhook_id": webhook});
    let routes: Vec<_> = ids.iter().take(2).map(route).collect();
    let source =
        json!({"name": "Forge", "scheme": "postrider", "secret": secret, "routes": routes});
    let created = gateway
        .call(Method::POST, "/v1/sources", Some(source))
        .await;
    Setup {
        webhooks: ids,
        source: created["id"].as_str().unwrap().to_owned(),
    }
}
