//! Rejected requests that are stored together.

use postrider_domain::inbound::Rejection;
use postrider_domain::rejected::{PER_MINUTE, RejectedRequest};
use postrider_ports::rejected::RejectionBatch;

use super::EmbeddedFixture;
use super::rejected::{listed, request, stage};
use crate::builders::NOW;

/// As if each had been stored on its own.
pub async fn a_batch_of_rejected_requests_is_stored_and_counted(fixture: impl EmbeddedFixture) {
    let (scene, source) = stage(&fixture).await;
    let one = || RejectedRequest::of(&source, request(b"x"), Rejection::NoMatch, NOW);
    let batch = RejectionBatch {
        tenant: scene.tenant.clone(),
        source: source.id,
        first: (0..PER_MINUTE + 2).map(|_| one()).collect(),
        more: 1_000,
    };
    let store = fixture.embedded();
    store.store_rejections(vec![batch]).await.unwrap();
    let counts = scene.rejection_counts(&scene.tenant, source.id).await;
    let counts = counts.unwrap();
    assert_eq!(
        (counts.stored, counts.counted),
        (u64::from(PER_MINUTE), 1_002)
    );
    assert_eq!(
        listed(&scene, &source, 100).await.len(),
        PER_MINUTE as usize
    );
}
