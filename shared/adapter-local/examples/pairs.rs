//! scratch
#![allow(clippy::all, clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, clippy::indexing_slicing, clippy::panic, clippy::cast_precision_loss, clippy::cast_possible_truncation)]
use std::sync::Arc;
use std::time::Instant;
use postrider_adapter_local::*;
use postrider_domain::decide::Transition;
use postrider_domain::event::Event;
use postrider_domain::ids::*;
use postrider_domain::time::*;
use postrider_ports::deliveries::*;
use postrider_ports::configs::*;
use postrider_testkit::builders;

fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}
fn rss() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap().lines().filter(|l| l.starts_with("VmRSS")).collect()
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let total: u32 = args[1].parse().unwrap();
    let tasks: u32 = args[2].parse().unwrap();
    let dir = std::path::PathBuf::from(args.get(3).cloned().unwrap_or("/tmp/pairs-db".into()));
    let _ = std::fs::remove_dir_all(&dir);
    let store = SqliteStore::open(&dir, Options::default()).unwrap();
    println!("open {}", rss());
    let tenant = TenantId::default();
    for n in 0..10 { store.create_webhook(builders::webhook(&tenant, n)).await.unwrap(); }
    let version = store.webhooks_version(&tenant).await.unwrap();
    let (t, c) = (Instant::now(), cpu());
    let mut set = tokio::task::JoinSet::new();
    let each = total / tasks;
    for task in 0..tasks {
        let (store, tenant) = (store.clone(), tenant.clone());
        set.spawn(async move {
            let mut lat = Vec::with_capacity(each as usize);
            let body = bytes::Bytes::from(vec![b'x'; 1024]);
            for n in 0..each {
                let now = builders::NOW.plus(Millis::new(t.elapsed().as_millis() as u64));
                let id = task * each + n;
                let mut entropy = [0u8; 10];
                entropy[..4].copy_from_slice(&id.wrapping_mul(2654435761).to_be_bytes());
                let event = Event { id: EventId::new(now, &entropy), body: body.clone(), ..builders::event(&tenant, id, now) };
                let event = Event { session_id: None, ..event };
                let mut a = builders::acceptance(event, &[builders::webhook_id(id % 10)], version);
                a.rows[0].lease = Some(builders::lease(store.process(), u64::from(id), now.plus(Millis::from_seconds(20))));
                let s = Instant::now();
                let r = store.accept(vec![a]).await.remove(0).unwrap();
                lat.push(s.elapsed());
                let Accepted::New { mut claimed } = r else { panic!("{r:?}") };
                let parcel = claimed.remove(0);
                let done = builders::completion(&parcel.claimed, Transition::Deliver, now);
                let r = store.apply(&parcel.claimed, done, now).await.unwrap();
                assert!(matches!(r, Applied::Done(_)));
            }
            lat
        });
    }
    let mut lat: Vec<_> = set.join_all().await.concat();
    let (wall, used) = (t.elapsed().as_secs_f64(), cpu() - c);
    lat.sort();
    let p = |q: f64| lat[((lat.len() - 1) as f64 * q) as usize];
    println!("{total} pairs, {tasks} tasks: {wall:.2}s wall = {:.0}/s; cpu {used:.2}s = {:.1} us/pair; accept p50 {:?} p99 {:?} p999 {:?} max {:?}; {}",
        f64::from(total) / wall, used / f64::from(total) * 1e6, p(0.5), p(0.99), p(0.999), p(1.0), rss());
    let _ = Arc::strong_count(&store);
    drop(store);
    println!("db {} MB", std::fs::metadata(dir.join("postrider.db")).unwrap().len() / 1_000_000);
}
