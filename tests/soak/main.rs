//! `make soak`: a gateway under the highest load that the machine holds, for an hour, while receivers fail and recover. What it uses
//! is sampled, held against bounds, and drawn.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "test code: its report is its purpose, and it measures real time"
)]

mod bounds;
mod numbers;
mod plot;
mod publishers;
mod receivers;
mod usage;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use http::Method;
use postrider_tests::command::Serve;
use serde_json::json;

use self::publishers::Publishers;
use self::receivers::{Behaviour, RECEIVERS, Receivers, TROUBLED};
use self::usage::Sample;

const SETTINGS: [(&str, &str); 1] = [("POSTRIDER_EGRESS_ALLOW", "127.0.0.1/32")];
/// How long the highest rate is measured.
const FLAT_OUT: Duration = Duration::from_secs(15);
/// The load is this part of the highest rate: a machine that has nothing to spare is late whatever the gateway does.
const PART: f64 = 0.7;
const SAMPLES: u32 = 120;
/// A troubled receiver is bad for one of so many periods.
const PERIODS: u32 = 3;
const PERIOD: Duration = Duration::from_secs(20);
/// In the end, nothing more is expected after so long without a request.
const SILENCE: Duration = Duration::from_secs(60);

/// Run a gateway under load for a long time, and watch what it uses
#[derive(Parser)]
struct Arguments {
    /// How long it runs
    #[arg(long, default_value_t = 60)]
    minutes: u32,
    /// Events per second; by default, a part of the highest rate that was measured
    #[arg(long)]
    rate: Option<f64>,
    /// How often to kill the gateway and start it again
    #[arg(long, default_value_t = 0)]
    kills: u32,
    /// Where the drawing goes
    #[arg(long, default_value = "docs/images/soak.svg")]
    svg: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let data = tempfile::tempdir().unwrap();
    let mut gateway = Serve::start_in(data.path(), &SETTINGS).await;
    let receivers = Receivers::start().await;
    let webhooks = set_up(&gateway, &receivers).await;
    let publishers = Publishers::start(&gateway, webhooks);
    let highest = highest_rate(&publishers, &receivers).await;
    let rate = arguments.rate.unwrap_or(highest * PART);
    println!("highest rate {highest:.0}/s, load {rate:.0}/s");
    publishers.set_rate(Some(rate));
    let lasting = Duration::from_secs(60) * arguments.minutes;
    let (began, every) = (Instant::now(), lasting / SAMPLES);
    let (mut samples, mut kills) = (Vec::<Sample>::new(), 0);
    while began.elapsed() < lasting {
        let next = every * (u32::try_from(samples.len()).unwrap() + 1);
        while began.elapsed() < next {
            trouble(&receivers, began.elapsed());
            let left = next.saturating_sub(began.elapsed());
            tokio::time::sleep(left.min(Duration::from_secs(1))).await;
        }
        let is_due = lasting / (arguments.kills + 1) * (kills + 1) <= began.elapsed();
        let is_disturbed = is_due && kills < arguments.kills;
        let sample = Sample::take(&gateway, data.path(), &receivers, began.elapsed());
        samples.push(Sample {
            is_disturbed,
            ..sample
        });
        if is_disturbed {
            kills += 1;
            gateway.kill().await;
            gateway = Serve::start_in(data.path(), &SETTINGS).await;
            publishers.go_to(&gateway);
        }
    }
    let acknowledged = publishers.stop().await;
    receivers.set_all(Behaviour::Works);
    let missing = receivers.missing_after(&acknowledged, SILENCE).await;
    assert!(gateway.terminate().await);
    std::fs::write(&arguments.svg, plot::svg(&samples)).unwrap();
    let mut report = bounds::check(&samples);
    report.push(bounds::Bound::at_most("not delivered", missing as f64, 0.0));
    println!(
        "{} acknowledged, {} requests, {kills} kills, {} minutes",
        acknowledged.count(),
        receivers.requests(),
        arguments.minutes
    );
    report.iter().for_each(|bound| println!("{bound}"));
    if missing > 0 {
        println!("the data is kept in {}", data.keep().display());
    }
    if report.iter().all(bounds::Bound::is_kept) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

async fn set_up(gateway: &Serve, receivers: &Arc<Receivers>) -> Vec<String> {
    // Without the ramp, a webhook gets five retries per second: those of an hour would take hours.
    let retry = json!({"profile": "custom", "delays_seconds": [1], "max_attempts": 100, "retry_ramp": "on"});
    let mut webhooks = Vec::new();
    for number in 0..RECEIVERS {
        let draft = json!({"name": "soak", "target_url": receivers.url(number), "event_types": ["*"],
            "retry": retry, "timeout_seconds": 2});
        let created = gateway
            .call(Method::POST, "/v1/webhooks", Some(draft))
            .await;
        webhooks.push(created["id"].as_str().unwrap().to_owned());
    }
    webhooks
}

/// How many deliveries per second arrive while publishers do not pause.
async fn highest_rate(publishers: &Publishers, receivers: &Receivers) -> f64 {
    publishers.set_rate(None);
    tokio::time::sleep(FLAT_OUT / 3).await;
    let (before, began) = (receivers.requests(), Instant::now());
    tokio::time::sleep(FLAT_OUT).await;
    (receivers.requests() - before) as f64 / began.elapsed().as_secs_f64()
}

/// Two receivers fail and hang, one after the other, and recover.
fn trouble(receivers: &Receivers, elapsed: Duration) {
    let period = u32::try_from(elapsed.as_secs() / PERIOD.as_secs()).unwrap();
    for (number, bad) in TROUBLED {
        let is_bad = period % PERIODS == u32::try_from(number).unwrap() % PERIODS;
        receivers.set(number, if is_bad { bad } else { Behaviour::Works });
    }
}
