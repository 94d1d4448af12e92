//! Environments of functions: the real code of each, over the connections of one process. An environment handles one
//! invocation at a time; one that dies or runs out of time is gone.

use std::sync::Arc;

use crate::dynamodb::http_client;
use lambda_runtime::{Context, LambdaEvent};
use postrider_adapter_aws::dynamodb::{DataKeys, DynamoOptions, DynamoStore, Follower, Tables};
use postrider_adapter_aws::unreadable::UnreadableChange;
use postrider_dispatcher::Batches;
use postrider_domain::egress::{Rules, Settings as EgressSettings};
use postrider_domain::retention::Retention;
use postrider_domain::retry::RuntimeRetry;
use postrider_domain::time::Millis;
use postrider_gateway::mail::Addresses;
use postrider_gateway::settings::{GatewaySettings, MAX_BODY_BYTES};
use postrider_gateway::webhook_cache::WebhookCache;
use postrider_gateway::{Gateway, Ports};
use postrider_notifier::Notifier;
use postrider_poller::Poller;
use postrider_publisher::{Publisher, SetsAside};
use postrider_watcher::WatchFunction;
use postrider_wiring::Parts;
use serde::Serialize;
use serde_json::Value;
use tokio::select;
use tokio::sync::oneshot;

use super::clock::ProcessClock;
use super::draws::Fault;
use super::executor::Process;
use super::network::Wire;
use super::sdk;
use super::world::World;
use super::{CONFIGS, TABLE};

const GRACE: Millis = Millis::from_seconds(180);
/// How far the clock of a process is off.
const SKEW_MS: i64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    Api,
    Dispatcher,
    Poller,
    Publisher,
    Watcher,
    Notifier,
}

impl Function {
    const fn timeout_ms(self) -> i64 {
        match self {
            Self::Api => 29_000,
            Self::Notifier => 30_000,
            Self::Poller => 55_000,
            Self::Dispatcher | Self::Publisher => 60_000,
            Self::Watcher => 120_000,
        }
    }
}

/// The code of a function, set up.
#[derive(Clone)]
enum Code {
    Api(Arc<Gateway>),
    Dispatcher(Arc<Batches>),
    Poller(Arc<Poller>),
    Publisher(Arc<Publisher>),
    Watcher(Arc<WatchFunction>),
    Notifier(Arc<Notifier>),
}

#[derive(Clone)]
pub(super) struct Environment {
    process: Process,
    code: Code,
}

/// Unreadable records do not exist here.
struct NoneUnreadable;

#[async_trait::async_trait]
impl SetsAside for NoneUnreadable {
    async fn set_aside(&self, changes: &[UnreadableChange]) -> postrider_ports::Result<()> {
        panic!("unreadable: {changes:?}")
    }
}

impl World {
    /// An environment that is idle, or a new one.
    fn environment(self: &Arc<Self>, function: Function) -> Environment {
        let mut pools = self.idle.lock();
        let idle = pools.entry(function).or_default().pop();
        drop(pools);
        let Some(idle) = idle else {
            return self.start(function);
        };
        if self.draws.strikes(Fault::Reclaimed) {
            self.kill(idle.process);
            return self.start(function);
        }
        self.executor.thaw(idle.process);
        idle
    }

    fn start(self: &Arc<Self>, function: Function) -> Environment {
        let process = self.next_process();
        let skew = self.draws.between("skew", -SKEW_MS, SKEW_MS);
        let clock = Arc::new(ProcessClock::new(Arc::clone(&self.executor), skew));
        let wire = Arc::new(Wire {
            world: Arc::clone(self),
            process,
            function,
            clock: Arc::clone(&clock),
        });
        let store = store(&wire);
        let code = self.code(function, &wire, &store);
        Environment { process, code }
    }

    fn code(&self, function: Function, wire: &Arc<Wire>, store: &Arc<DynamoStore>) -> Code {
        let ports = Ports {
            store: Arc::clone(store) as _,
            clock: Arc::clone(&wire.clock) as _,
            entropy: Arc::new(self.draws.entropy(wire.process.0)),
        };
        let cache = Arc::new(WebhookCache::new(Arc::clone(&ports.store) as _));
        let (clock, name) = (Arc::clone(&ports.clock), "simulated".to_owned());
        let parts = Parts {
            ports: ports.clone(),
            webhook_cache: Arc::clone(&cache),
            queue: Arc::clone(wire) as _,
            process: format!("p{}", wire.process.0),
            aws: None,
            sweeps: Some(Arc::clone(store) as _),
        };
        let retry = RuntimeRetry::default();
        match function {
            Function::Api => {
                let queue = Arc::clone(wire) as _;
                Code::Api(Arc::new(Gateway::new(ports, cache, queue, settings())))
            }
            Function::Dispatcher => {
                Code::Dispatcher(Arc::new(Batches::new(parts, Arc::clone(wire) as _, retry)))
            }
            Function::Poller => Code::Poller(Arc::new(Poller::new(parts, GRACE, name))),
            Function::Publisher => Code::Publisher(Arc::new(Publisher::new(
                Arc::new(Follower::of(Arc::clone(store))),
                Arc::clone(wire) as _,
                Arc::new(NoneUnreadable),
                clock,
                name,
            ))),
            Function::Watcher => {
                let function = WatchFunction::new(Arc::clone(store) as _, clock, name);
                Code::Watcher(Arc::new(function))
            }
            Function::Notifier => Code::Notifier(Arc::new(Notifier {
                contacts: Arc::clone(store) as _,
                sent_log: Arc::clone(store) as _,
                mail: Some(Arc::clone(wire) as _),
                addresses: Addresses {
                    alert_address: Some("owner@example.com".to_owned()),
                    public_url: None,
                },
                clock,
            })),
        }
    }

    /// Invokes a function; `None` if it failed, died or ran out of time.
    pub(super) async fn invoke(
        self: &Arc<Self>,
        function: Function,
        event: Value,
    ) -> Option<Value> {
        let mut context = Context::default();
        let deadline = self.executor.now_ms() + function.timeout_ms();
        context.deadline = u64::try_from(deadline).unwrap();
        let run = move |code: Code| handled(code, event, context);
        self.run_in(function, run).await?
    }

    /// Handles a request to the API; `None` if the caller gets no answer.
    pub(super) async fn api<T, F>(
        self: &Arc<Self>,
        request: impl FnOnce(Arc<Gateway>) -> F,
    ) -> Option<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        if self.machine().is_some() {
            return self.call_embedded(request).await;
        }
        let run = |code: Code| match code {
            Code::Api(gateway) => request(gateway),
            Code::Dispatcher(_)
            | Code::Poller(_)
            | Code::Publisher(_)
            | Code::Watcher(_)
            | Code::Notifier(_) => panic!("not the API"),
        };
        self.run_in(Function::Api, run).await
    }

    async fn run_in<T, F>(
        self: &Arc<Self>,
        function: Function,
        run: impl FnOnce(Code) -> F,
    ) -> Option<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let environment = self.environment(function);
        let process = environment.process;
        self.busy_since
            .lock()
            .insert(process, self.executor.now_ms());
        let (done, answer) = oneshot::channel();
        let work = run(environment.code.clone());
        self.executor.spawn(process, async move {
            let _ = done.send(work.await);
        });
        let answer = select! {
            biased;
            answer = answer => answer.ok(),
            () = self.executor.sleep(function.timeout_ms()) => {
                self.note(&format!("{function:?} {} runs out of time", process.0));
                self.kill(process);
                None
            }
        };
        // Between invocations an environment stands still.
        if answer.is_some() {
            self.executor.freeze(process, i64::MAX);
            self.busy_since.lock().remove(&process);
            self.idle
                .lock()
                .entry(function)
                .or_default()
                .push(environment);
        }
        answer
    }

    /// A process dies.
    pub(super) fn kill(&self, process: Process) {
        if let Some(since) = self.busy_since.lock().remove(&process) {
            self.audit.ended(process, since);
        }
        self.executor.kill(process);
    }
}

async fn handled(code: Code, event: Value, context: Context) -> Option<Value> {
    match code {
        Code::Api(_) => panic!("the API takes requests"),
        Code::Dispatcher(code) => json(code.handle(sqs(event, context)).await),
        Code::Poller(code) => json(code.handle(LambdaEvent::new(event, context)).await),
        Code::Publisher(code) => json(code.handle(LambdaEvent::new(event, context)).await),
        Code::Watcher(code) => json(code.handle(LambdaEvent::new(event, context)).await),
        Code::Notifier(code) => json(code.handle(sqs(event, context)).await),
    }
}

fn sqs<T: serde::de::DeserializeOwned>(event: Value, context: Context) -> LambdaEvent<T> {
    LambdaEvent::new(serde_json::from_value(event).unwrap(), context)
}

fn json<T: Serialize, E>(answer: Result<T, E>) -> Option<Value> {
    let answer = answer.ok()?;
    Some(serde_json::to_value(answer).unwrap())
}

fn store(wire: &Arc<Wire>) -> Arc<DynamoStore> {
    let client = http_client(Arc::new(Arc::clone(wire)));
    let options = DynamoOptions {
        tables: Tables {
            deliveries: TABLE.to_owned(),
            configs: CONFIGS.to_owned(),
        },
        retention: Retention::default(),
        bodies: None,
    };
    let (dynamodb, kms) = sdk::clients(&client, &wire.world.executor);
    DynamoStore::new(dynamodb, DataKeys::new(kms, "key".to_owned()), options)
}

pub(super) fn settings() -> GatewaySettings {
    GatewaySettings {
        max_body_bytes: MAX_BODY_BYTES,
        egress: Rules::new(EgressSettings::default()).unwrap(),
        retry: RuntimeRetry::default(),
        event_validation: Default::default(),
    }
}
