//! The life of a delivery, every step run by the writer.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::decide::Transition;
use postrider_domain::delivery::{Claimed, Completion};
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{
    Acceptance, Accepted, Applied, Claim, ClaimedDelivery, Deliveries, Renewed, Wanted,
};
use postrider_ports::start_now::{AcceptClaimed, Planned};
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
        let (claimed, transition) = (claimed.clone(), completion.transition);
        let write =
            move |tx: &mut Tx<'_, '_>| tx.whole(|tx| apply::apply(tx, &claimed, &completion, now));
        match transition {
            Transition::Deliver => self.writer.write_patiently(write).await,
            Transition::Retry { .. } | Transition::Die { .. } => self.writer.write(write).await,
        }
    }
}

#[async_trait]
impl AcceptClaimed for SqliteStore {
    async fn accept_claimed(
        &self,
        batch: Vec<Planned>,
    ) -> Vec<Result<(Accepted, Vec<ClaimedDelivery>)>> {
        self.each(batch, |tx, one| {
            accept::accept(tx, &one.acceptance, &one.reserved)
        })
        .await
    }
}

impl SqliteStore {
    /// Runs a batch as one job; each item is all or nothing. If the job as a whole is broken, because one item made it panic,
    /// each item runs alone: the others are not at fault.
    async fn each<I, T>(
        &self,
        batch: Vec<I>,
        work: impl Fn(&mut Tx<'_, '_>, &I) -> std::result::Result<T, Fault> + Send + Sync + 'static,
    ) -> Vec<Result<T>>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let count = batch.len();
        let (batch, work): (Arc<[I]>, _) = (batch.into(), Arc::new(work));
        match self.part(&batch, 0..count, &work).await {
            Ok(results) => results,
            Err(error) if error.is_transient() || count == 1 => {
                vec![error; count].into_iter().map(Err).collect()
            }
            Err(_) => {
                let mut results = Vec::with_capacity(count);
                for n in 0..count {
                    match self.part(&batch, n..n + 1, &work).await {
                        Ok(result) => results.extend(result),
                        Err(error) => results.push(Err(error)),
                    }
                }
                results
            }
        }
    }

    async fn part<I, T, W>(
        &self,
        batch: &Arc<[I]>,
        items: Range<usize>,
        work: &Arc<W>,
    ) -> Result<Vec<Result<T>>>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
        W: Fn(&mut Tx<'_, '_>, &I) -> std::result::Result<T, Fault> + Send + Sync + 'static,
    {
        let (batch, work) = (Arc::clone(batch), Arc::clone(work));
        self.writer
            .write(move |tx| {
                let one = |item| tx.whole(|tx| work(tx, item)).map_err(Error::from);
                let items = batch.iter().take(items.end).skip(items.start);
                Ok(items.map(one).collect())
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use postrider_ports::Error;

    use crate::sqlite::{SqliteOptions, SqliteStore};

    #[tokio::test]
    async fn an_item_that_panics_fails_alone() {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(dir.path(), SqliteOptions::default()).unwrap();
        let results = store
            .each(vec!["one", "two", "three"], |tx, name| {
                assert_ne!(*name, "two", "a bug");
                tx.execute(
                    "INSERT INTO tenants (tenant, config_version) VALUES (?1, 1)",
                    [name],
                )
            })
            .await;
        assert!(
            matches!(results[..], [Ok(1), Err(Error::Broken(_)), Ok(1)]),
            "{results:?}"
        );
    }
}
