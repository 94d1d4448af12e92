//! How rate and latency change with the number of webhooks, the size of the body and the number of stored rows, as a picture.

use std::path::Path;

use crate::arrivals::Arrivals;
use crate::message;
use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::plot::{self, Panel, Point};
use crate::report::Report;

const OF: &str = "Rate and latency, flat out";
const WEBHOOKS: [usize; 4] = [1, 2, 5, 10];
const BODIES: [usize; 4] = [256, 1024, 8 * 1024, 64 * 1024];
/// Thousands of deliveries that are stored before the measured ones.
const STORED: [u64; 4] = [1, 10, 50, 100];

pub(crate) async fn measure(
    plan: &Plan,
    disk: &Path,
    arrivals: &Arrivals,
    picture: &Path,
    report: &mut Report,
) {
    let mut webhooks = Vec::new();
    for count in WEBHOOKS {
        let mut pipeline = Pipeline::with_webhooks(disk, arrivals, count).await;
        webhooks.push(point(&mut pipeline, plan.sweep, count, count as f64).await);
        pipeline.stop().await;
    }
    let mut bodies = Vec::new();
    for bytes in BODIES {
        let mut pipeline = Pipeline::with_bodies(disk, arrivals, bytes).await;
        bodies.push(point(&mut pipeline, plan.sweep / 2, 1, bytes as f64 / 1024.0).await);
        pipeline.stop().await;
    }
    let mut stored = Vec::new();
    let mut pipeline = Pipeline::with_bodies(disk, arrivals, message::BYTES).await;
    for thousands in STORED {
        let missing = (thousands * 1000).saturating_sub(pipeline.published);
        pipeline.publish(missing).await;
        stored.push(point(&mut pipeline, plan.sweep, 1, thousands as f64).await);
    }
    pipeline.stop().await;
    let panels = [
        Panel::new("webhooks per event", webhooks),
        Panel::new("body, KiB", bodies),
        Panel::new("stored rows, thousands", stored),
    ];
    for panel in &panels {
        for point in &panel.points {
            let (name, x) = (panel.name, point.x);
            let mut of = report.of(OF);
            of.measurement(format!("{name}: {x}, delivered"), point.rate, "/s");
            of.measurement(format!("{name}: {x}, accept, p99"), point.p99_ms, "ms");
        }
    }
    std::fs::write(picture, plot::svg(&panels)).unwrap();
}

async fn point(pipeline: &mut Pipeline<'_>, deliveries: u64, webhooks: usize, x: f64) -> Point {
    let messages = deliveries / webhooks as u64;
    let run = pipeline.publish(messages).await;
    Point {
        x,
        rate: (messages * webhooks as u64) as f64 / run.delivered_in,
        p99_ms: run.accept.p99_ms(),
    }
}
