//! The ports of limiters and backlogs.

use async_trait::async_trait;
use postrider_domain::flow::{Limiter, Limits};
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::time::Timestamp;
use postrider_ports::Result;
use postrider_ports::backlog::Rows;
use postrider_ports::deliveries::{Claim, Wanted};
use postrider_ports::drains::{
    BacklogPart, BacklogSize, DrainEnd, DrainLease, Drains, Postponed, Registration, Round,
};
use postrider_ports::history::{Cursor, Page};
use postrider_ports::limiters::{Limiters, Stored, WebhookFlow};

use super::DynamoStore;
use super::claim::Source;

#[async_trait]
impl Limiters for DynamoStore {
    async fn flows(&self, webhooks: &[(TenantId, WebhookId)]) -> Vec<Result<Option<WebhookFlow>>> {
        match self.read_flows(webhooks).await {
            Ok(flows) => flows,
            Err(error) => webhooks.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn enter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen_epoch: u64,
        entered: Limiter,
        now: Timestamp,
    ) -> Result<Stored> {
        self.register(tenant, webhook, now).await?;
        self.enter_limit((tenant, webhook), seen_epoch, &entered)
            .await
    }

    async fn take_credit(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen: &WebhookFlow,
        want: usize,
        limits: Limits,
        now: Timestamp,
    ) -> Result<usize> {
        self.take_retry_credit((tenant, webhook), seen, want, &limits, now)
            .await
    }
}

#[async_trait]
impl Drains for DynamoStore {
    async fn register_backlog(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<()> {
        self.register(tenant, webhook, now).await
    }

    async fn move_to_backlog(&self, rows: Vec<Postponed>, now: Timestamp) -> Vec<Result<()>> {
        self.move_rows(rows, now).await
    }

    async fn ask_for_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        seen: Option<Timestamp>,
        at: Timestamp,
    ) -> Result<Stored> {
        self.note_drain_message((tenant, webhook), seen, at).await
    }

    async fn take_drain_lease(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: DrainLease,
    ) -> Result<Option<WebhookFlow>> {
        let Some(flow) = self.take_lease((tenant, webhook), &lease).await? else {
            return Ok(None);
        };
        let state = self.state(tenant, webhook).await?;
        Ok(state.map(|state| flow.with(&state)))
    }

    async fn store_limiter(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        seen_epoch: u64,
        limiter: Limiter,
    ) -> Result<Stored> {
        if limiter.epoch != seen_epoch && !limiter.limited {
            // Others may still write rows into the backlog that they believe to be needed.
            self.register(tenant, webhook, limiter.opened_at).await?;
        }
        self.store_stepped((tenant, webhook), lease, seen_epoch, &limiter)
            .await
    }

    async fn end_drain(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        lease: &DrainLease,
        end: DrainEnd,
    ) -> Result<()> {
        self.return_lease((tenant, webhook), lease, &end).await
    }

    async fn backlog_rows(
        &self,
        _: &TenantId,
        part: BacklogPart,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Rows> {
        self.rows_in(part, limit, after).await
    }

    async fn claim_from_backlog(&self, wanted: Vec<Wanted>, now: Timestamp) -> Vec<Result<Claim>> {
        self.claim_all(wanted, Source::Backlog, now).await
    }

    async fn registrations(
        &self,
        shard: u16,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Registration>> {
        self.registrations_of(shard, limit, after).await
    }

    async fn registration(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
    ) -> Result<Option<Registration>> {
        self.registration_of(tenant, webhook).await
    }

    async fn unregister_backlog(&self, registration: &Registration) -> Result<()> {
        self.unregister(registration).await
    }

    async fn round(&self) -> Result<Round> {
        self.stored_round().await
    }

    async fn store_round(&self, round: &Round) -> Result<()> {
        self.keep_round(round).await
    }

    async fn backlog_size(
        &self,
        _: &TenantId,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<BacklogSize> {
        self.size_of(webhook, now).await
    }
}
