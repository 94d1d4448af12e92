//! Bulk retries and their progress.

use postrider_domain::ids::{JobId, TenantId};
use postrider_ports::history::{Cursor, Filter};
use postrider_ports::jobs::{JobState, ListedRow, RetryJob, Walk};

use super::{Fixture, Scene};
use crate::builders::{NOW, after, event, row, webhook_id};

/// Its counts and its cursor.
pub async fn a_job_is_stored_and_continues(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let job = job(1);
    scene.create_job(&scene.tenant, job.clone()).await.unwrap();
    assert_eq!(
        scene.job(&scene.tenant, job.id).await,
        Ok(Some(job.clone()))
    );
    let further = RetryJob {
        done: 4,
        failed: 1,
        counting: Walk::Ended,
        requeueing: Walk::after(Some(Cursor("here".to_owned()))),
        slice: slice(),
        step: 1,
        ..job
    };
    let noted = scene.progress_job(&scene.tenant, further.clone()).await;
    assert_eq!(noted, Ok(Some(further.clone())));
    let ended = RetryJob {
        state: JobState::Done,
        requeueing: Walk::Ended,
        slice: Vec::new(),
        step: 2,
        ..further
    };
    let noted = scene.progress_job(&scene.tenant, ended.clone()).await;
    assert_eq!(noted, Ok(Some(ended.clone())));
    assert_eq!(scene.job(&scene.tenant, ended.id).await, Ok(Some(ended)));
    let unknown = scene.progress_job(&scene.tenant, self::job(2)).await;
    assert_eq!(unknown, Ok(None));
}

/// Although a slice was running.
pub async fn a_cancelled_job_stays_cancelled(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let job = job(1);
    scene.create_job(&scene.tenant, job.clone()).await.unwrap();
    let cancelled = scene.cancel_job(&scene.tenant, job.id).await.unwrap();
    assert_eq!(cancelled.unwrap().state, JobState::Cancelled);
    let late = RetryJob {
        done: 7,
        step: 1,
        ..job
    };
    let noted = scene.progress_job(&scene.tenant, late).await.unwrap();
    let noted = noted.unwrap();
    assert_eq!((noted.state, noted.done), (JobState::Cancelled, 7));
    let stored = scene.job(&scene.tenant, noted.id).await;
    assert_eq!(stored, Ok(Some(noted)));
    fixture.flush().await;
    assert_eq!(scene.unfinished_jobs().await, Ok(Vec::new()));
}

/// It is returned unchanged.
pub async fn a_finished_job_cannot_be_cancelled(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let done = RetryJob {
        state: JobState::Done,
        ..job(1)
    };
    scene.create_job(&scene.tenant, done.clone()).await.unwrap();
    let cancelled = scene.cancel_job(&scene.tenant, done.id).await;
    assert_eq!(cancelled, Ok(Some(done)));
    let unknown = scene.cancel_job(&scene.tenant, job(2).id).await;
    assert_eq!(unknown, Ok(None));
}

/// By the process that runs slices.
pub async fn unfinished_jobs_of_all_tenants_are_found(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let other = Scene::of_tenant(fixture.handle(), "other");
    let done = RetryJob {
        state: JobState::Done,
        ..job(3)
    };
    scene.create_job(&scene.tenant, job(1)).await.unwrap();
    other.create_job(&other.tenant, job(2)).await.unwrap();
    other.create_job(&other.tenant, done).await.unwrap();
    fixture.flush().await;
    let mut running = scene.unfinished_jobs().await.unwrap();
    running.sort_by_key(|(_, job)| job.id);
    assert_eq!(
        running,
        [
            (scene.tenant.clone(), job(1)),
            (other.tenant.clone(), job(2))
        ]
    );
}

/// Two processes that run the same slice report it once.
pub async fn progress_of_an_old_step_changes_nothing(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let job = job(1);
    scene.create_job(&scene.tenant, job.clone()).await.unwrap();
    let first = RetryJob {
        done: 4,
        step: 1,
        ..job.clone()
    };
    let noted = scene.progress_job(&scene.tenant, first.clone()).await;
    assert_eq!(noted, Ok(Some(first.clone())));
    for step in [0, 1, 3] {
        let other = RetryJob {
            done: 5,
            step,
            ..job.clone()
        };
        let noted = scene.progress_job(&scene.tenant, other).await;
        assert_eq!(noted, Ok(Some(first.clone())), "step {step}");
    }
    let stored = scene.job(&scene.tenant, first.id).await;
    assert_eq!(stored, Ok(Some(first)));
}

/// Its last rows are not counted yet.
pub async fn a_job_cancelled_within_a_slice_is_unfinished(fixture: impl Fixture) {
    let scene = Scene::of(fixture.handle());
    let job = RetryJob {
        slice: slice(),
        ..job(1)
    };
    scene.create_job(&scene.tenant, job.clone()).await.unwrap();
    let cancelled = scene.cancel_job(&scene.tenant, job.id).await;
    let cancelled = cancelled.unwrap().unwrap();
    fixture.flush().await;
    let unfinished = scene.unfinished_jobs().await;
    assert_eq!(
        unfinished,
        Ok(vec![(scene.tenant.clone(), cancelled.clone())])
    );
    let settled = RetryJob {
        done: 1,
        slice: Vec::new(),
        step: 1,
        ..cancelled
    };
    let noted = scene.progress_job(&scene.tenant, settled.clone()).await;
    assert_eq!(noted, Ok(Some(settled)));
    fixture.flush().await;
    assert_eq!(scene.unfinished_jobs().await, Ok(Vec::new()));
}

fn slice() -> Vec<ListedRow> {
    let event = event(&TenantId::default(), 1, NOW);
    vec![ListedRow::from(&row(&event, webhook_id(1)))]
}

fn job(n: u8) -> RetryJob {
    let filter = Filter {
        webhook_id: Some(webhook_id(1)),
        session_id: Some("session-1".parse().unwrap()),
        to: Some(after(5)),
        ..Filter::default()
    };
    RetryJob {
        matched: 9,
        ..RetryJob::new(JobId::from_bytes([n; 16]), filter, NOW)
    }
}
