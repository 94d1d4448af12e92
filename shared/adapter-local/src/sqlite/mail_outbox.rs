//! The mail outbox: e-mails about failing webhooks, stored with the change they report and kept until they are sent.

use async_trait::async_trait;
use postrider_domain::alert::Alert;
use postrider_domain::ids::{TenantId, WebhookId};
use postrider_domain::notification::Notification;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::mail::{Contact, Contacts};
use postrider_ports::mail_outbox::{EmailResult, LONGEST_PUT_OFF, MailOutbox, PendingEmail};
use postrider_store_format::StoredWebhook;
use rusqlite::{Connection, ToSql, params};

use super::fault::Fault;
use super::writer::Tx;
use super::{SqliteStore, codec};

/// How long e-mails are kept, sent or not.
const RETENTION: Millis = Millis::from_seconds(30 * 86_400);

pub(super) const DUE: &str = "SELECT id, event, tries, refusals, at FROM letters WHERE due_at <= ?1 \
     ORDER BY due_at LIMIT ?2";

/// Those that a clock running ahead has dated.
pub(super) const DUE_BEYOND: &str = "SELECT id, event, tries, refusals, at FROM letters WHERE due_at > ?1 \
     ORDER BY due_at LIMIT ?2";

pub(super) const FILED_BETWEEN: &str = "SELECT 1 FROM letters \
     WHERE tenant = ?1 AND webhook_id = ?2 AND trouble = ?3 AND episode > ?4 AND episode <= ?5 LIMIT 1";

pub(super) const CONTACT: &str =
    "SELECT settings FROM webhook_configs WHERE tenant = ?1 AND id = ?2";

/// Adds the e-mail for a notification, if it calls for one and the owner has not been notified already.
pub(super) fn file(tx: &Tx<'_, '_>, notification: &Notification) -> std::result::Result<(), Fault> {
    let event = notification.to_cloud_event();
    let text = event.to_string();
    let alert = Alert::of(event).map_err(|error| Fault::Unreadable(error.to_string()))?;
    let Some(alert) = alert else {
        return Ok(());
    };
    let (webhook, cause) = (alert.webhook.to_string(), alert.cause.as_str());
    let earlier = codec::first(
        &mut *tx.statement(FILED_BETWEEN)?,
        &[
            &alert.tenant.as_str(),
            &webhook,
            &cause,
            &alert.silenced_after(),
            &alert.latest_episode(notification.at),
        ],
        |_| Ok(()),
    )?;
    if earlier.is_none() {
        let at = notification.at.as_millis();
        tx.execute(
            "INSERT INTO letters (tenant, webhook_id, trouble, episode, at, event, due_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?5)",
            params![
                alert.tenant.as_str(),
                webhook,
                cause,
                alert.episode(),
                at,
                text
            ],
        )?;
    }
    Ok(())
}

/// Deletes old e-mails.
pub(super) fn forget(tx: &Tx<'_, '_>, now: Timestamp) -> std::result::Result<(), Fault> {
    let before = now.minus(RETENTION).as_millis();
    tx.execute("DELETE FROM letters WHERE at < ?1", [before])?;
    Ok(())
}

fn due(
    db: &Connection,
    query: &str,
    at: Timestamp,
    limit: usize,
) -> std::result::Result<Vec<PendingEmail>, Fault> {
    let params: [&dyn ToSql; 2] = [&at.as_millis(), &codec::limit(limit)];
    codec::all(&mut *db.prepare_cached(query)?, &params, |row| {
        Ok(PendingEmail {
            id: row.get(0)?,
            event: row.get(1)?,
            tries: row.get(2)?,
            rejections: row.get(3)?,
            notified_at: codec::instant(row, 4)?,
        })
    })
}

#[async_trait]
impl MailOutbox for SqliteStore {
    async fn emails_due(&self, by: Timestamp, limit: usize) -> Result<Vec<PendingEmail>> {
        self.readers
            .read(move |db| {
                let mut due = due(db, DUE, by, limit)?;
                let left = limit.saturating_sub(due.len());
                due.extend(self::due(db, DUE_BEYOND, by.plus(LONGEST_PUT_OFF), left)?);
                Ok(due)
            })
            .await
    }

    async fn record_result(&self, id: i64, result: EmailResult) -> Result<()> {
        let (tried, rejected, due_at) = match result {
            EmailResult::Settled => (0, 0, None),
            EmailResult::PutOff(until) => (1, 0, Some(until.as_millis())),
            EmailResult::Rejected(until) => (0, 1, Some(until.as_millis())),
        };
        self.writer
            .write(move |tx| {
                tx.execute(
                    "UPDATE letters SET tries = tries + ?2, refusals = refusals + ?3, due_at = ?4 \
                     WHERE id = ?1 AND due_at IS NOT NULL",
                    params![id, tried, rejected, due_at],
                )
            })
            .await?;
        Ok(())
    }
}

#[async_trait]
impl Contacts for SqliteStore {
    async fn contact(&self, tenant: &TenantId, webhook: WebhookId) -> Result<Option<Contact>> {
        let (tenant, webhook) = (tenant.clone(), webhook.to_string());
        let settings: Option<String> = self
            .readers
            .read(move |db| {
                let mut statement = db.prepare_cached(CONTACT)?;
                codec::first(&mut statement, &[&tenant.as_str(), &webhook], |row| {
                    Ok(row.get(0)?)
                })
            })
            .await?;
        let contact = settings.as_deref().map(StoredWebhook::contact);
        contact.transpose()
    }
}
