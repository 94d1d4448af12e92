//! A client without a gateway: the same kind of client with the same number of connections, posting directly to the
//! receiver.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::task::JoinSet;

use crate::arrivals::Arrivals;
use crate::message;
use crate::plan::{CONNECTIONS, Plan};
use crate::procfs;
use crate::report::Report;
use crate::samples::Samples;
use crate::scale::Bare;

/// How many requests are sent one after another.
const ALONE: u64 = 1000;
/// The low rate at which a gateway is measured, too.
const SLOW: Duration = Duration::from_millis(10);

type Plain = Client<HttpConnector, Full<Bytes>>;

pub(crate) async fn measure(plan: &Plan, arrivals: &Arrivals, report: &mut Report) -> Bare {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Plain = Client::builder(TokioExecutor::new())
        .retry_canceled_requests(false)
        .pool_max_idle_per_host(CONNECTIONS)
        .build(connector);
    let url = arrivals.url(0);
    let mut alone = Samples::default();
    for number in 0..ALONE {
        let began = Instant::now();
        post(&client, &url, number).await;
        alone.since(began);
    }
    let (began, cpu_before) = (Instant::now(), cpu(arrivals));
    let mut posters = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (client, url, until) = (client.clone(), url.clone(), began + plan.bare);
        posters.spawn(async move {
            let mut sent = 0;
            while Instant::now() < until {
                post(&client, &url, sent).await;
                sent += 1;
            }
            sent
        });
    }
    let sent: u64 = posters.join_all().await.into_iter().sum();
    let rate = sent as f64 / began.elapsed().as_secs_f64();
    let cpu = (cpu(arrivals) - cpu_before) / sent as f64;
    let (post, slow_cpu) = (alone.p50_ms(), slow(plan, arrivals, &client).await);
    let mut of = report.of("This machine");
    of.measurement("bare client, 1 KiB POSTs, 32 connections", rate, "/s");
    of.measurement("bare client, one POST at a time, p50", post, "ms");
    of.measurement(
        "a plain request: CPU of client and receiver",
        cpu * 1e6,
        "µs",
    );
    of.measurement("the same at 100/s", slow_cpu * 1e6, "µs");
    of.measurement("the same at 100/s ÷ flat out", slow_cpu / cpu, "");
    arrivals.forget().await;
    Bare {
        rate,
        post,
        cpu,
        slow_cpu,
    }
}

/// CPU of client and receiver for a request, in seconds, if there is time between them: caches are cold and threads asleep.
async fn slow(plan: &Plan, arrivals: &Arrivals, client: &Plain) -> f64 {
    let (before, url) = (cpu(arrivals), arrivals.url(0));
    let mut ticks = tokio::time::interval(SLOW);
    let (began, mut sent) = (Instant::now(), 0);
    while began.elapsed() < plan.slow {
        ticks.tick().await;
        post(client, &url, sent).await;
        sent += 1;
    }
    (cpu(arrivals) - before) / sent as f64
}

/// What client and receiver have used so far, in seconds.
fn cpu(arrivals: &Arrivals) -> f64 {
    procfs::cpu_seconds(std::process::id()) + procfs::cpu_seconds(arrivals.pid())
}

async fn post(client: &Plain, url: &str, number: u64) {
    let payload = message::payload(number, message::now());
    let request = Request::post(url)
        .header("content-type", "application/json")
        .body(Full::from(payload))
        .unwrap();
    let response = client.request(request).await.unwrap();
    assert!(response.status().is_success());
    response.into_body().collect().await.unwrap();
}
