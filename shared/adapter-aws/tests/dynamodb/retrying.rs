//! A bulk retry whose process ends at any write: each row is counted once.

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use postrider_adapter_aws::dynamodb::DynamoStore;
use postrider_domain::delivery::Status;
use postrider_domain::ids::TenantId;
use postrider_gateway::retries::Retries;
use postrider_gateway::{GatewayError, Ports};
use postrider_ports::RetryStore;
use postrider_ports::history::Filter;
use postrider_ports::jobs::{Count, JobState, Jobs, RetryJob};
use postrider_testkit::builders::after;
use postrider_testkit::clock::{CountedEntropy, SteppedClock};
use postrider_testkit::recording_queue::RecordingQueue;
use postrider_testkit::store_suite::{Fixture, Scene};

use crate::support::faults::{Fault, Faults};
use crate::support::{Dynamo, fixture};

fn retries(store: &Arc<DynamoStore>) -> Retries {
    let ports: Ports<dyn RetryStore> = Ports {
        store: Arc::clone(store) as _,
        clock: Arc::new(SteppedClock::at(after(1))),
        entropy: Arc::new(CountedEntropy::seeded(1)),
    };
    Retries::new(ports, Arc::new(RecordingQueue::default())).in_slices_of(2)
}

fn failing(tables: &Dynamo, faults: Faults) -> Arc<DynamoStore> {
    let config = tables.config().retry_config(RetryConfig::disabled());
    tables.store_with(Client::from_conf(config.interceptor(faults).build()))
}

async fn finish(
    retries: &Retries,
    tenant: &TenantId,
    mut job: RetryJob,
) -> Result<RetryJob, GatewayError> {
    while job.is_unfinished() {
        job = retries.carry_on(tenant, job).await?;
    }
    Ok(job)
}

/// The job of a tenant, if it is unfinished.
async fn unfinished(tables: &Dynamo, tenant: &TenantId) -> Option<RetryJob> {
    let all = tables.store.unfinished_jobs().await.unwrap();
    let mut ours = all.into_iter().filter(|(owner, _)| owner == tenant);
    ours.next().map(|(_, job)| job)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bulk_retry_interrupted_at_any_write_counts_every_row_once() {
    let tables = fixture().await;
    for fault in [Fault::Unreachable, Fault::AnswerLost] {
        for interrupted_at in 0.. {
            let name = format!("{fault:?}-{interrupted_at}").to_lowercase();
            let scene = Scene::of_tenant(tables.handle(), &name);
            let tenant = &scene.tenant;
            let webhook = scene.webhook().await.id;
            let mut ids = Vec::new();
            for _ in 0..3 {
                ids.push(scene.dead(webhook).await);
            }
            let broken = retries(&failing(&tables, Faults::from_write(interrupted_at, fault)));
            let begun = broken.begin(tenant, Filter::default()).await;
            let is_whole = match &begun {
                Ok(begun) => finish(&broken, tenant, begun.clone()).await.is_ok(),
                Err(_) => false,
            };
            let healthy = retries(&tables.store);
            let job = match (unfinished(&tables, tenant).await, begun) {
                (Some(job), _) => finish(&healthy, tenant, job).await.unwrap(),
                (None, Ok(begun)) => healthy.job(tenant, begun.id).await.unwrap(),
                (None, Err(_)) => {
                    assert_eq!(interrupted_at, 0, "only a job that was not stored is lost");
                    continue;
                }
            };
            assert_eq!(
                (job.state, job.count(), job.done, job.failed),
                (JobState::Done, Count::Exactly(3), 3, 0),
                "{name}"
            );
            for id in ids {
                assert_eq!(scene.stored(id).await.status, Status::Pending, "{name}");
            }
            if is_whole {
                break;
            }
        }
    }
}
