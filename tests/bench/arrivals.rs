//! The receiver's process, and the arrivals that it reports.

use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use crate::receiver::LANES;
use crate::samples::Samples;

/// If nothing new arrives for this long, missing messages count as lost.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The receiver. It ends when this value is dropped.
pub(crate) struct Arrivals {
    process: Child,
    _standard_input: ChildStdin,
    ports: Ports,
    client: reqwest::Client,
}

#[derive(Deserialize)]
struct Ports {
    lanes: Vec<u16>,
    control: u16,
}

/// What arrived at one port.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Count {
    /// Distinct messages.
    pub(crate) distinct: u64,
    /// Requests.
    pub(crate) total: u64,
    /// Requests that were answered with 503.
    pub(crate) failed: u64,
    /// When the last new message arrived, in microseconds since the epoch.
    pub(crate) last_new_at: u64,
}

impl Arrivals {
    pub(crate) async fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .arg("receiver")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let first = lines.next_line().await.unwrap().expect("its ports");
        Self {
            _standard_input: process.stdin.take().unwrap(),
            process,
            ports: serde_json::from_str(&first).unwrap(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id().expect("it runs")
    }

    /// The URL of the `n`-th port.
    pub(crate) fn url(&self, lane: usize) -> String {
        format!("http://127.0.0.1:{}/hook", self.ports.lanes[lane])
    }

    /// The URL of the port that takes long to respond.
    pub(crate) fn hanging_url(&self) -> String {
        self.url(LANES)
    }

    /// The URL of the `n`-th port that fails some requests.
    pub(crate) fn flaky_url(&self, n: usize) -> String {
        self.url(flaky_lane(n))
    }

    /// What has arrived so far at the `n`-th port that fails some requests.
    pub(crate) async fn flaky_count(&self, n: usize) -> Count {
        self.counts().await[flaky_lane(n)]
    }

    pub(crate) async fn flaky_latencies(&self, n: usize) -> Samples {
        self.latencies().await.swap_remove(flaky_lane(n))
    }

    async fn counts(&self) -> Vec<Count> {
        serde_json::from_value(self.ask("counts").await).unwrap()
    }

    /// How long messages took from publication to arrival, for each port.
    pub(crate) async fn latencies(&self) -> Vec<Samples> {
        let lanes: Vec<Vec<u32>> = serde_json::from_value(self.ask("latencies").await).unwrap();
        lanes
            .into_iter()
            .map(|lane| lane.into_iter().collect())
            .collect()
    }

    /// Resets the counts.
    pub(crate) async fn forget(&self) {
        self.ask("forget").await;
    }

    /// Waits until this many distinct messages have arrived at each of the first ports, or until no more arrive.
    /// Returns the arrivals at these ports.
    pub(crate) async fn wait(&self, lanes: usize, messages_each: u64) -> Vec<Count> {
        let mut idle = Duration::ZERO;
        let mut looks = tokio::time::interval(LOOK_EVERY);
        let mut before = 0;
        loop {
            let mut counts = self.counts().await;
            counts.truncate(lanes);
            let all: u64 = counts.iter().map(|count| count.distinct).sum();
            let is_there = |count: &Count| count.distinct >= messages_each;
            if counts.iter().all(is_there) || idle >= PATIENCE {
                return counts;
            }
            idle = if all > before {
                Duration::ZERO
            } else {
                idle + LOOK_EVERY
            };
            before = all;
            looks.tick().await;
        }
    }

    /// Waits until this many distinct messages have arrived at the first ports together, or until no more arrive.
    pub(crate) async fn wait_in_all(&self, lanes: usize, messages: u64) -> u64 {
        let mut idle = Duration::ZERO;
        let mut looks = tokio::time::interval(LOOK_EVERY);
        let mut before = 0;
        loop {
            let counts = self.counts().await;
            let all = counts.iter().take(lanes).map(|count| count.distinct).sum();
            if all >= messages || idle >= PATIENCE {
                return all;
            }
            idle = if all > before {
                Duration::ZERO
            } else {
                idle + LOOK_EVERY
            };
            before = all;
            looks.tick().await;
        }
    }

    async fn ask(&self, what: &str) -> Value {
        let url = format!("http://127.0.0.1:{}/{what}", self.ports.control);
        let answer = self.client.get(url).send().await.unwrap();
        let text = answer.text().await.unwrap();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }
}

const fn flaky_lane(n: usize) -> usize {
    LANES + 1 + n
}
