//! The life of a delivery, every step run by the writer.

use async_trait::async_trait;
use postrider_domain::delivery::{Claimed, Completion};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, ClaimedDelivery, Deliveries, Renewed, Wanted,
};
use postrider_ports::start_now::{AcceptClaimed, Reservation};
use postrider_ports::{Error, Result};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, accept, apply, claim, give_back};

#[async_trait]
impl Deliveries for SqliteStore {
    async fn accept(&self, batch: Vec<Acceptance>) -> Vec<Result<Accepted>> {
        self.each(batch, |tx, one| {
            accept::accept(tx, one, &[]).map(|(accepted, _)| accepted)
        })
        .await
    }

    async fn claim(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        self.each(wanted, move |tx, one| claim::claim(tx, one, now))
            .await
    }

    async fn renew(&self, claimed: &Claimed, until: Timestamp) -> Result<Renewed> {
        let claimed = claimed.clone();
        self.writer
            .write(move |tx| claim::renew(tx, &claimed, until))
            .await
    }

    async fn give_back(&self, claimed: &Claimed, _: Timestamp) -> Result<()> {
        let claimed = claimed.clone();
        self.writer
            .write(move |tx| give_back::give_back(tx, &claimed))
            .await
    }

    async fn apply(
        &self,
        claimed: &Claimed,
        completion: Completion,
        now: Timestamp,
    ) -> Result<Applied> {
        let claimed = claimed.clone();
        self.writer
            .write(move |tx| tx.whole(|tx| apply::apply(tx, &claimed, &completion, now)))
            .await
    }
}

#[async_trait]
impl AcceptClaimed for SqliteStore {
    async fn accept_claimed(
        &self,
        acceptance: Acceptance,
        reserved: Vec<Reservation>,
    ) -> Result<(Accepted, Vec<ClaimedDelivery>)> {
        self.writer
            .write(move |tx| tx.whole(|tx| accept::accept(tx, &acceptance, &reserved)))
            .await
    }
}

impl SqliteStore {
    /// Runs a batch as one job; each item is all or nothing.
    async fn each<I, T>(
        &self,
        batch: Vec<I>,
        work: impl Fn(&mut Tx<'_>, &I) -> std::result::Result<T, Fault> + Send + 'static,
    ) -> Vec<Result<T>>
    where
        I: Send + 'static,
        T: Send + 'static,
    {
        let count = batch.len();
        let done = self.writer.write(move |tx| {
            let one = |item| tx.whole(|tx| work(tx, item)).map_err(Error::from);
            Ok(batch.iter().map(one).collect::<Vec<_>>())
        });
        match done.await {
            Ok(results) => results,
            Err(error) => (0..count).map(|_| Err(error.clone())).collect(),
        }
    }
}
