//! The ports that only the embedded gateway has.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_domain::flow::AttemptKind;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::retention::Retention;
use postrider_domain::time::Timestamp;
use postrider_ports::deliveries::{Accepted, ClaimedDelivery};
use postrider_ports::housekeeping::{Expired, Housekeeping};
use postrider_ports::mail::{Contact, Contacts, Email, Mail};
use postrider_ports::mail_outbox::{EmailResult, MailOutbox, PendingEmail};
use postrider_ports::schedule::{AgendaPage, Ask, DueRows, Schedule};
use postrider_ports::sender::{Post, Posted, Sender};
use postrider_ports::start_now::{AcceptClaimed, Planned};
use postrider_ports::{Error, Result};

use super::disk::Disk;
use crate::flaw::Flaw;
use crate::functions::Function;

#[async_trait]
impl Schedule for Disk {
    async fn agenda(
        &self,
        after: Option<&(TenantId, WebhookId)>,
        limit: usize,
        now: Timestamp,
    ) -> Result<AgendaPage> {
        self.call("agenda", self.store.agenda(after, limit, now))
            .await
    }

    async fn due(
        &self,
        tenant: &TenantId,
        webhook: WebhookId,
        asks: &[Ask],
        now: Timestamp,
    ) -> Result<Vec<DueRows>> {
        let due = self.store.due(tenant, webhook, asks, now);
        let mut due = self.call("due", due).await?;
        if self.has(Flaw::OverlooksRetries) {
            for (rows, ask) in due.iter_mut().zip(asks) {
                if ask.kind == AttemptKind::Retry {
                    *rows = DueRows::default();
                }
            }
        }
        Ok(due)
    }
}

#[async_trait]
impl AcceptClaimed for Disk {
    async fn accept_claimed(
        &self,
        batch: Vec<Planned>,
    ) -> Vec<Result<(Accepted, Vec<ClaimedDelivery>)>> {
        let count = batch.len();
        let store = Arc::clone(&self.store);
        if self.has(Flaw::AnswersTooEarly) {
            let new = batch.iter().map(|_| Ok((Accepted::New, Vec::new())));
            let new = new.collect();
            self.later(async move { store.accept_claimed(batch).await });
            return new;
        }
        let stored = async { Ok(self.store.accept_claimed(batch).await) };
        let failed = |error: Error| (0..count).map(|_| Err(error.clone())).collect();
        let answer = self.call("accept_claimed", stored).await;
        answer.unwrap_or_else(failed)
    }
}

#[async_trait]
impl Housekeeping for Disk {
    async fn expire(
        &self,
        mut retention: Retention,
        limit: usize,
        now: Timestamp,
    ) -> Result<Expired> {
        if self.has(Flaw::SweepsDeadEarly) {
            retention.dead = retention.delivered;
        }
        self.call("expire", self.store.expire(retention, limit, now))
            .await
    }

    async fn delete_old_rejections(&self, before: Timestamp, limit: usize) -> Result<usize> {
        let delete = self.store.delete_old_rejections(before, limit);
        self.call("delete_old_rejections", delete).await
    }

    async fn delete_old_notifications(
        &self,
        before: Timestamp,
        limit: usize,
        now: Timestamp,
    ) -> Result<usize> {
        let delete = self.store.delete_old_notifications(before, limit, now);
        self.call("delete_old_notifications", delete).await
    }
}

#[async_trait]
impl MailOutbox for Disk {
    async fn emails_due(&self, by: Timestamp, limit: usize) -> Result<Vec<PendingEmail>> {
        self.call("emails_due", self.store.emails_due(by, limit))
            .await
    }

    async fn record_result(&self, id: i64, result: EmailResult) -> Result<()> {
        if self.has(Flaw::MailsAgain) && self.world.draws.below("unrecorded", 2) == 0 {
            return Ok(());
        }
        let recorded = self.store.record_result(id, result);
        let recorded = self.call("record_result", recorded).await;
        if recorded.is_err() {
            self.world.audit.fault(Function::Notifier);
        }
        recorded
    }
}

#[async_trait]
impl Contacts for Disk {
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>> {
        self.call("contact", self.store.contact(tenant, webhook))
            .await
    }
}

#[async_trait]
impl Mail for Disk {
    async fn send(&self, email: Email) -> Result<()> {
        let world = &self.world;
        let sent = async {
            world.note(&format!("e-mail {}: {}", email.id, email.subject));
            world.audit.mail(&email.id, &email.subject);
            Ok(())
        };
        let sent = self.call("send_mail", sent).await;
        if sent.is_err() {
            world.audit.fault(Function::Notifier);
        }
        sent
    }
}

#[async_trait]
impl Sender for Disk {
    async fn post(&self, request: Post) -> Posted {
        Ok(self.send(&request).await)
    }
}
