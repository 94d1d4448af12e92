//! The sent log: one item per webhook and reason, which records the latest e-mail. It is changed only by a conditional
//! write that returns nothing, so that the mail sender does not need read access to the table of deliveries.

use async_trait::async_trait;
use aws_sdk_dynamodb::error::SdkError;
use postrider_domain::alert::Alert;
use postrider_domain::time::{Millis, Timestamp};
use postrider_ports::Result;
use postrider_ports::mail_outbox::SentLog;

use super::DynamoStore;
use super::calls::{Change, Condition, Table};
use super::expression::{filled, names, some};
use super::item::{ms, n, s, seconds};
use super::keys::Key;
use crate::fault;

/// After this time another sender may take over an e-mail that was claimed and not recorded as sent.
const CLAIMED_FOR: Millis = Millis::from_seconds(900);
/// How far the clocks of two senders may differ. A claim that ends later than both together allow was written by a clock that ran
/// ahead, and is void.
const CLOCKS_APART: Millis = Millis::from_seconds(60);
/// How long a sent e-mail is remembered.
const RETENTION: Millis = Millis::from_seconds(400 * 86_400);

#[async_trait]
impl SentLog for DynamoStore {
    async fn claim_email(&self, alert: &Alert, by: &str, now: Timestamp) -> Result<bool> {
        let free = Condition::new(
            "attribute_not_exists(#pk) OR #episode <= :silenced_after OR #episode > :latest \
             OR (#about = :about AND #sent = :no \
             AND (#taken_by = :by OR #taken_until < :now OR #taken_until > :longest))",
        );
        let free = free
            .with("silenced_after", n(alert.silenced_after()))
            .with("latest", n(alert.latest_episode(now)))
            .with("longest", ms(now.plus(CLAIMED_FOR).plus(CLOCKS_APART)))
            .with("about", s(&alert.id))
            .with("no", n(0))
            .with("by", s(by))
            .with("now", ms(now));
        let taken = Change::of(Table::Deliveries, key(alert))
            .set("about", s(&alert.id))
            .set("episode", n(alert.episode()))
            .set("sent", n(0))
            .set("taken_by", s(by))
            .set("taken_until", ms(now.plus(CLAIMED_FOR)))
            .set("expires_at", seconds(now.plus(RETENTION)))
            .only_if(free);
        self.change_without_reading(taken).await
    }

    async fn record_sent(&self, alert: &Alert) -> Result<()> {
        let same = Condition::new("#about = :about").with("about", s(&alert.id));
        let sent = Change::of(Table::Deliveries, key(alert)).set("sent", n(1));
        self.change_without_reading(sent.only_if(same)).await?;
        Ok(())
    }
}

fn key(alert: &Alert) -> Key {
    Key::email(&alert.tenant, alert.webhook, alert.cause.as_str())
}

impl DynamoStore {
    /// Updates an item if the condition holds, and returns whether it did.
    async fn change_without_reading(&self, change: Change) -> Result<bool> {
        let (table, key) = (change.table, change.key.item());
        let (expression, condition) = change.into_parts();
        let call = self
            .client
            .update_item()
            .table_name(self.table(table))
            .set_key(Some(key))
            .set_expression_attribute_names(names(&[&expression, &condition.expression]))
            .set_expression_attribute_values(some(condition.values))
            .set_condition_expression(filled(condition.expression))
            .update_expression(expression);
        match call.send().await {
            Ok(_) => Ok(true),
            Err(SdkError::ServiceError(failure))
                if failure.err().is_conditional_check_failed_exception() =>
            {
                Ok(false)
            }
            Err(error) => Err(fault::of(&error)),
        }
    }
}
