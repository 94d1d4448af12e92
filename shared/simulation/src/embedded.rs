//! The embedded gateway: one process on one machine, killed and started again on the same SQLite file.
//!
//! Worker, sweep, mail sender and use cases are the real ones. Their calls to the store go through [`Disk`], where they fail, take
//! long, or end the process; the store itself is SQLite, on a file system in memory if there is one.

mod disk;
mod machine;
mod ports;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use postrider_adapter_local::{SqliteOptions, SqliteStore};
use postrider_domain::time::Millis;
use postrider_gateway::attempt::Attempts;
use postrider_gateway::mail::{Addresses, MailSender};
use postrider_gateway::settings::WorkerSettings;
use postrider_gateway::sweep::Sweep;
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::worker::embedded::{EmbeddedWorker, InProcessQueue, Spawner};
use postrider_gateway::{Gateway, Ports};
use tokio::sync::oneshot;

use self::disk::Disk;
pub(super) use self::machine::Machine;
use super::draws::Fault;
use super::executor::{Executor, Process};
use super::functions::{Function, settings};
use super::world::World;

/// As long as it may be: more turns of an idle gateway would only take time.
const POLL_INTERVAL: Millis = Millis::from_seconds(60);
/// How long a supervisor takes to start it again, in milliseconds.
const RESTART_MS: (i64, i64) = (1000, 10_000);
/// How often a client looks whether the gateway runs again.
const LOOK_MS: i64 = 500;

/// The running process.
#[derive(Clone)]
pub(super) struct Service {
    process: Process,
    gateway: Arc<Gateway>,
}

/// Attempts are tasks of the process.
struct ProcessSpawner {
    executor: Arc<Executor>,
    process: Process,
}

impl Spawner for ProcessSpawner {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.executor.spawn(self.process, task);
    }
}

impl World {
    pub(super) fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    /// Keeps the gateway running.
    pub(super) async fn supervise(self: Arc<Self>) {
        let machine = self.machine().expect("the embedded gateway has one");
        loop {
            let off = |world: &Self| machine.off_for_ms(world.executor.now_ms());
            while off(&self) > 0 {
                self.executor.sleep(off(&self)).await;
            }
            if !machine.is_running() {
                self.start_embedded(machine);
            }
            machine.ended().await;
            let (least, most) = RESTART_MS;
            let pause = self.draws.between("restart", least, most);
            self.executor.sleep(pause).await;
        }
    }

    fn start_embedded(self: &Arc<Self>, machine: &Machine) {
        machine.expect_closed();
        let store = SqliteStore::open(machine.folder(), SqliteOptions::default()).unwrap();
        machine.opened(&store);
        let process = self.next_process();
        self.note(&format!("process {} starts", process.0));
        let disk = Arc::new(Disk::new(Arc::clone(self), process, Arc::clone(&store)));
        let ports: Ports = Ports {
            store: Arc::new(disk::store(&disk)) as _,
            clock: Arc::clone(machine.clock()) as _,
            entropy: Arc::new(self.draws.entropy(process.0)),
        };
        let cache = Arc::new(WebhookCache::new(Arc::clone(&ports.store) as _));
        let limits = settings();
        let settings = WorkerSettings {
            poll_interval: POLL_INTERVAL,
            ..WorkerSettings::default()
        };
        let attempts = Attempts::new(
            ports.clone(),
            Arc::clone(&disk) as _,
            Arc::clone(&cache),
            settings.retry,
        );
        let worker = EmbeddedWorker::spawning(
            Arc::new(ProcessSpawner {
                executor: Arc::clone(&self.executor),
                process,
            }),
            ports.clone(),
            Arc::clone(&disk) as _,
            attempts,
            Arc::clone(&cache),
            store.process().to_owned(),
            &settings,
        );
        let queue = Arc::new(InProcessQueue(Arc::clone(&worker)));
        let sweep = Sweep::new(
            ports.clone(),
            Arc::clone(&disk) as _,
            Arc::clone(&queue) as _,
            &settings,
        );
        let mail = MailSender::new(
            Arc::clone(&disk) as _,
            Arc::clone(&disk) as _,
            Arc::clone(&disk) as _,
            Arc::clone(&ports.clock),
            Addresses {
                alert_address: Some("owner@example.com".to_owned()),
                public_url: None,
            },
        );
        let gateway = Arc::new(Gateway::embedded(ports, cache, queue, disk as _, limits));
        self.executor.spawn(process, worker.run());
        self.executor
            .spawn(process, async move { sweep.run().await });
        self.executor
            .spawn(process, async move { mail.run().await });
        machine.begin(Service { process, gateway });
    }

    /// The process dies. A request of each row that it holds may have no result.
    fn kill_embedded(&self, process: Process) {
        let machine = self.machine().expect("the embedded gateway has one");
        self.note(&format!("process {} dies", process.0));
        self.audit
            .died(process, &machine.held(), self.executor.now_ms());
        if machine.has_pending_email() {
            // It may have been sent just now.
            self.audit.fault(Function::Notifier);
        }
        machine.end();
        self.executor.kill(process);
    }

    /// Ends the process, and starts it again at this time.
    pub(super) fn switch_off(&self, machine: &Machine, until_ms: i64) {
        machine.switch_off(until_ms);
        if let Some(service) = machine.service() {
            self.kill_embedded(service.process);
        }
    }

    /// Calls the gateway as soon as it runs; `None` if it dies before it answers.
    pub(super) async fn call_embedded<T, F>(
        &self,
        request: impl FnOnce(Arc<Gateway>) -> F,
    ) -> Option<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let machine = self.machine().expect("the embedded gateway has one");
        let service = loop {
            match machine.service() {
                Some(service) => break service,
                None => {
                    let off = machine.off_for_ms(self.executor.now_ms());
                    self.executor.sleep(off.max(LOOK_MS)).await;
                }
            }
        };
        let (done, answer) = oneshot::channel();
        let work = request(Arc::clone(&service.gateway));
        self.executor.spawn(service.process, async move {
            let _ = done.send(work.await);
        });
        drop(service);
        let answer = answer.await.ok()?;
        // A client may lose its connection although the gateway has done everything.
        (!self.draws.strikes(Fault::AnswerLost)).then_some(answer)
    }
}
