//! The gateway's memory: right after the start, and after many deliveries.

use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::arrivals::Arrivals;
use crate::gateway::Gateway;
use crate::load;
use crate::message;
use crate::pipeline::Pipeline;
use crate::plan::Plan;
use crate::procfs;
use crate::report::{Bar, Report};

const OF: &str = "Memory";
/// How long to wait after the start before memory is read.
const SETTLE: Duration = Duration::from_secs(1);
/// How much the flooding receiver sends.
const FLOOD: usize = 300 * 1024 * 1024;
/// The number of parts after which memory is read. After the first, the caches are full.
const PARTS: u64 = 10;

/// The memory of an idle gateway.
pub(crate) async fn idle(disk: &Path, arrivals: &Arrivals, report: &mut Report) {
    let gateway = Gateway::start(disk).await;
    tokio::time::sleep(SETTLE).await;
    let memory = procfs::memory_mb(gateway.pid());
    report
        .of(OF)
        .against(Bar::AtMost(20.0), "idle after the start", memory, "MB");
    flood(&gateway, arrivals, report).await;
    gateway.stop().await;
}

/// By how much the peak rises if a receiver answers with far more than is read. A usual delivery comes first, so that everything
/// is there that any delivery needs.
async fn flood(gateway: &Gateway, arrivals: &Arrivals, report: &mut Report) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let receiver = tokio::spawn(answer_endlessly(listener));
    let before = peak_after_delivery(gateway, &arrivals.url(0)).await;
    let after = peak_after_delivery(gateway, &url).await;
    receiver.await.unwrap();
    arrivals.forget().await;
    report.of(OF).against(
        Bar::AtMost(2.0),
        "peak with a response of 300 MiB − without",
        after - before,
        "MB",
    );
}

async fn peak_after_delivery(gateway: &Gateway, url: &str) -> f64 {
    let webhook = gateway.webhook(url).await;
    let event = move |n| message::event(&webhook, n, message::now());
    load::flat_out(gateway.address(), 0..1, event).await;
    gateway.idle().await;
    procfs::peak_memory_mb(gateway.pid())
}

/// Answers one request, until the client has had enough.
async fn answer_endlessly(listener: TcpListener) {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut request = vec![0; 8 * 1024];
    assert_ne!(client.read(&mut request).await.unwrap(), 0);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {FLOOD}\r\n\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let (piece, mut sent) = (vec![b'.'; 64 * 1024], 0);
    while sent < FLOOD && client.write_all(&piece).await.is_ok() {
        sent += piece.len();
    }
}

/// The memory of a gateway that is idle again after each part of many deliveries.
pub(crate) async fn growth(plan: &Plan, pipeline: &mut Pipeline<'_>, report: &mut Report) {
    let pid = pipeline.gateway.pid();
    let mut seen = Vec::new();
    for _ in 0..PARTS {
        pipeline.publish(plan.growth / PARTS).await;
        seen.push((pipeline.published, procfs::memory_mb(pid)));
    }
    let ((few, early), (all, late)) = (seen[0], seen[seen.len() - 1]);
    let mut of = report.of(OF);
    of.measurement("deliveries, early", few as f64, "");
    of.measurement("idle after these", early, "MB");
    of.measurement("deliveries in total", all as f64, "");
    of.measurement("idle after these, too", late, "MB");
    of.against(Bar::AtMost(64.0), "peak", procfs::peak_memory_mb(pid), "MB");
    let ratio = late / early;
    of.against(Bar::AtMost(1.1), "flat: idle late ÷ early", ratio, "");
    let arrived = pipeline.arrived().await;
    of.expect_all(all, arrived.distinct);
    let again = arrived.total - arrived.distinct;
    of.measurement("requests beyond the first of a message", again as f64, "");
}
