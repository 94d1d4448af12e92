//! E-mails about failing webhooks.

use postrider_domain::alert::{Alert, AlertCause, WARNINGS_APART};
use postrider_domain::decide::Transition;
use postrider_domain::delivery::DeadCause;
use postrider_domain::health::WebhookStatus;
use postrider_domain::ids::WebhookId;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::mail::Contact;
use postrider_ports::mail_outbox::{EmailResult, PendingEmail};

use super::scene::die;
use super::{EmbeddedFixture, Scene};
use crate::builders::{NOW, after};

const LATER: Timestamp = Timestamp::from_millis(i64::MAX);

async fn due(fixture: &impl EmbeddedFixture, by: Timestamp) -> Vec<PendingEmail> {
    fixture.embedded().emails_due(by, 100).await.unwrap()
}

async fn alerts(fixture: &impl EmbeddedFixture) -> Vec<Alert> {
    let emails = due(fixture, LATER).await;
    let read = |email: PendingEmail| Alert::read(&email.event).unwrap().unwrap();
    emails.into_iter().map(read).collect()
}

/// Fails a webhook with a dead delivery.
async fn fail(scene: &Scene, webhook: WebhookId, at: Timestamp) {
    let exhausted = die(DeadCause::ExhaustedFailingWebhook);
    scene.outcome(webhook, exhausted, at).await;
}

/// Three failures in a row after a success.
async fn fail_three_times(scene: &Scene, webhook: WebhookId, at: Timestamp) {
    scene.outcome(webhook, Transition::Deliver, at).await;
    for _ in 0..3 {
        scene.outcome(webhook, die(DeadCause::Rejected), at).await;
    }
}

/// However many deliveries die, until an operator resumes it.
pub async fn a_failed_webhook_is_one_email_per_episode(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    let rows = [scene.row(webhook).await, scene.row(webhook).await];
    let claimed = [
        scene.claimed(rows[0], NOW).await,
        scene.claimed(rows[1], NOW).await,
    ];
    for claimed in &claimed {
        let exhausted = die(DeadCause::ExhaustedFailingWebhook);
        scene.finish(claimed, exhausted, after(1)).await;
    }
    let filed = alerts(&fixture).await;
    assert_eq!(filed.len(), 1);
    assert_eq!((filed[0].webhook, filed[0].at), (webhook, after(1)));
    let last = filed[0].last_failure.clone().unwrap();
    assert_eq!((last.delivery, last.at), (rows[0], after(1)));
    scene.set_status(webhook, WebhookStatus::Active).await;
    fail(&scene, webhook, after(2)).await;
    assert_eq!(alerts(&fixture).await.len(), 1, "it failed again at once");
    scene.set_status(webhook, WebhookStatus::Active).await;
    scene.outcome(webhook, Transition::Deliver, after(3)).await;
    fail(&scene, webhook, after(4)).await;
    let generations: Vec<_> = alerts(&fixture)
        .await
        .iter()
        .map(|a| a.generation)
        .collect();
    assert_eq!(generations, [0, 2]);
}

/// A webhook that keeps failing and recovering would fill its owner's mailbox.
pub async fn warnings_of_a_webhook_are_an_hour_apart(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let (webhook, other) = (scene.webhook().await.id, scene.webhook().await.id);
    let hour = NOW.plus(WARNINGS_APART);
    for at in [NOW, after(60), hour.minus(Millis::new(1)), hour] {
        fail_three_times(&scene, webhook, at).await;
    }
    fail_three_times(&scene, other, after(60)).await;
    let filed = alerts(&fixture).await;
    let filed: Vec<_> = filed.iter().map(|a| (a.webhook, a.at, a.cause)).collect();
    let warning = AlertCause::Degraded { failures: 3 };
    assert_eq!(
        filed,
        [
            (webhook, NOW, warning),
            (other, after(60), warning),
            (webhook, hour, warning)
        ]
    );
}

/// Across restarts, and only until it is settled.
pub async fn an_email_stays_until_it_is_settled(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    fail(&scene, scene.webhook().await.id, NOW).await;
    let store = fixture.embedded();
    assert_eq!(due(&fixture, NOW.minus(Millis::new(1))).await, []);
    let email = due(&fixture, NOW).await.remove(0);
    assert_eq!((email.tries, email.rejections), (0, 0));
    assert_eq!(email.notified_at, NOW);
    let put_off = EmailResult::PutOff(after(10));
    store.record_result(email.id, put_off).await.unwrap();
    assert_eq!(due(&fixture, after(9)).await, []);
    let refused = EmailResult::Rejected(after(20));
    store.record_result(email.id, refused).await.unwrap();
    let again = due(&fixture, after(20)).await.remove(0);
    assert_eq!((again.id, again.tries, again.rejections), (email.id, 1, 1));
    let settled = EmailResult::Settled;
    store.record_result(email.id, settled).await.unwrap();
    store.record_result(email.id, put_off).await.unwrap();
    assert_eq!(due(&fixture, LATER).await, []);
}

/// The longest overdue first.
pub async fn emails_of_all_tenants_come_in_order(fixture: impl EmbeddedFixture) {
    let scenes = ["a", "b"].map(|tenant| Scene::of_tenant(fixture.handle(), tenant));
    for (scene, at) in scenes.iter().zip([after(5), NOW]) {
        fail(scene, scene.webhook().await.id, at).await;
    }
    let tenants: Vec<_> = alerts(&fixture)
        .await
        .into_iter()
        .map(|a| a.tenant)
        .collect();
    assert_eq!(
        tenants,
        [scenes[1].tenant.clone(), scenes[0].tenant.clone()]
    );
    let one = fixture.embedded().emails_due(LATER, 1).await.unwrap();
    assert_eq!(one.len(), 1);
}

/// Without its secrets.
pub async fn a_webhooks_owner_is_known(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await;
    let store = fixture.embedded();
    let contact = Contact {
        name: webhook.settings.name,
        owner_email: None,
    };
    let known = store.contact(&scene.tenant, webhook.id).await;
    assert_eq!(known, Ok(Some(contact)));
    let other = "other".parse().unwrap();
    assert_eq!(store.contact(&other, webhook.id).await, Ok(None));
}

/// Such as after a restart with the clock set right.
pub async fn an_email_put_off_by_a_clock_that_ran_ahead_is_due(fixture: impl EmbeddedFixture) {
    let scene = Scene::of(fixture.handle());
    fail(&scene, scene.webhook().await.id, NOW).await;
    let email = due(&fixture, NOW).await.remove(0);
    let tomorrow = EmailResult::PutOff(after(86_400 + 300));
    let store = fixture.embedded();
    store.record_result(email.id, tomorrow).await.unwrap();
    let again = due(&fixture, after(1)).await;
    assert_eq!(
        again.iter().map(|one| one.id).collect::<Vec<_>>(),
        [email.id]
    );
    let soon = EmailResult::PutOff(after(300));
    store.record_result(email.id, soon).await.unwrap();
    assert_eq!(due(&fixture, after(299)).await, []);
}

/// Otherwise the owner would hear nothing until then.
pub async fn a_warning_dated_by_a_clock_that_ran_ahead_silences_no_other(
    fixture: impl EmbeddedFixture,
) {
    let scene = Scene::of(fixture.handle());
    let webhook = scene.webhook().await.id;
    for at in [after(86_400), NOW, after(60)] {
        fail_three_times(&scene, webhook, at).await;
    }
    let filed: Vec<_> = alerts(&fixture).await.iter().map(|a| a.at).collect();
    assert_eq!(filed, [NOW, after(86_400)]);
}
