//! Receivers that work, fail, hang, refuse and limit, each for a while.

use std::collections::BTreeMap;

use async_trait::async_trait;
use parking_lot::Mutex;
use postrider_domain::outcome::{
    Answer, Failure, FailureKind, Outcome, Phase, Response, RetryAfter, Timings,
};
use postrider_domain::time::Millis;
use postrider_ports::sender::{Post, Posted, Sender};

use super::audit;
use super::draws::{Draws, Fault};
use super::executor::Process;
use super::network::Wire;
use super::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behaviour {
    Works,
    Fails,
    Hangs,
    Refuses,
    /// Takes one request per second.
    Limits,
}

/// What a receiver does, until when.
struct Receiver {
    phases: Vec<(i64, Behaviour)>,
    finally: Behaviour,
    accepted_ms: i64,
}

#[derive(Default)]
pub(super) struct Receivers(Mutex<BTreeMap<String, Receiver>>);

impl Receivers {
    /// A receiver at this host. One in eight never works again after its last phase.
    pub(super) fn add(&self, host: String, draws: &Draws, from_ms: i64, until_ms: i64) {
        let (mut phases, mut at) = (Vec::new(), from_ms);
        while at < until_ms {
            let behaviour = match draws.below("behaviour", 8) {
                0..4 => Behaviour::Works,
                4 | 5 => Behaviour::Fails,
                6 => Behaviour::Limits,
                _ => match draws.below("no response", 2) {
                    0 => Behaviour::Hangs,
                    _ => Behaviour::Refuses,
                },
            };
            at += draws.between("phase", 10_000, 240_000);
            phases.push((at.min(until_ms), behaviour));
        }
        let finally = match draws.below("finally", 8) {
            0 => Behaviour::Fails,
            _ => Behaviour::Works,
        };
        let receiver = Receiver {
            phases,
            finally,
            accepted_ms: 0,
        };
        self.0.lock().insert(host, receiver);
    }

    fn behaviour(&self, host: &str, now_ms: i64) -> Behaviour {
        let mut all = self.0.lock();
        let receiver = all.get_mut(host).unwrap();
        let phase = receiver.phases.iter().find(|(until, _)| now_ms < *until);
        let behaviour = phase.map_or(receiver.finally, |(_, behaviour)| *behaviour);
        if behaviour == Behaviour::Limits && receiver.accepted_ms + 1000 <= now_ms {
            receiver.accepted_ms = now_ms;
            return Behaviour::Works;
        }
        behaviour
    }
}

fn response(status: u16, retry_after: Option<RetryAfter>) -> Answer {
    Answer::Response(Response {
        status,
        retry_after,
        control: None,
        content_type: None,
        body: String::new(),
    })
}

fn failure(kind: FailureKind, phase: Phase) -> Answer {
    Answer::Failed(Failure {
        kind,
        phase,
        detail: "simulated".to_owned(),
    })
}

impl World {
    /// A request from this process to a receiver.
    pub(super) async fn post(&self, process: Process, request: &Post) -> Outcome {
        let draws = &self.draws;
        let host = request.target_url.host_str().unwrap();
        let delivery = request.headers["webhook-id"].to_str().unwrap();
        let at_ms = self.executor.now_ms();
        let behaviour = self.receivers.behaviour(host, at_ms);
        let (result, takes_ms) = match behaviour {
            Behaviour::Works => (response(200, None), draws.between("response", 5, 400)),
            Behaviour::Fails => (response(500, None), draws.between("response", 5, 400)),
            Behaviour::Limits => {
                let later = RetryAfter::Delay(Millis::from_seconds(5));
                (response(429, Some(later)), 5)
            }
            Behaviour::Refuses => (failure(FailureKind::Connect, Phase::Connect), 5),
            Behaviour::Hangs => {
                let takes = i64::try_from(request.timeout.get()).unwrap();
                (failure(FailureKind::Timeout, Phase::FirstByte), takes)
            }
        };
        let posted = audit::Posted {
            process,
            at_ms,
            ends_ms: at_ms + takes_ms,
            is_accepted: behaviour == Behaviour::Works,
        };
        let process = process.0;
        self.note(&format!(
            "process {process} posts {delivery} to {host}: {behaviour:?}"
        ));
        self.audit.post(delivery, posted);
        self.executor.sleep(takes_ms).await;
        Outcome {
            result,
            timings: Timings::default(),
        }
    }
}

#[async_trait]
impl Sender for Wire {
    async fn post(&self, request: Post) -> Posted {
        let world = &self.world;
        let outcome = world.post(self.process, &request).await;
        if world.draws.strikes(Fault::KilledAfter) {
            world.note(&format!("{self} dies after its request"));
            world.kill(self.process);
            std::future::pending::<()>().await;
        }
        Ok(outcome)
    }
}
