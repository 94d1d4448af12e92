//! The life of a delivery, step by step.

use async_trait::async_trait;
use postrider_domain::delivery::{Claimed, Completion};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, Deliveries, Renewed, Wanted,
};

use super::DynamoStore;
use super::claim::Source;

#[async_trait]
impl Deliveries for DynamoStore {
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        self.accept_all(batch).await
    }

    async fn claim(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        self.claim_all(wanted, Source::Message, now).await
    }

    async fn renew(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed> {
        self.prolong(claimed, until).await
    }

    async fn give_back(&self, claimed: &Claimed, now: Timestamp) -> Result<()> {
        self.undo_claim(claimed, now).await
    }

    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        now: Timestamp,
    ) -> Result<Applied> {
        self.complete(claimed, &completion, now).await
    }
}
