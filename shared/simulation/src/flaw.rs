//! Bugs on purpose, to see that the simulation finds them. Each takes away one rule from the store or the functions.

use serde_json::{Value, json};

use crate::ageing::DAY_MS;
use crate::draws::{Fault, Strikes};
use crate::{Runs, Until};

/// A rule that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A publish is acknowledged before its rows are written, and forgotten if the process dies.
    AcknowledgesEarly,
    /// A claim does not look at the lease.
    IgnoresLeases,
    /// The result of an attempt is written although another process holds the row.
    DoesNotFence,
    /// A batch of the watcher counts as done although it failed.
    WatchesTooEarly,
    /// A row that failed leaves its lane.
    ForgetsLanes,
    /// A repeated key replaces what the first call stored.
    ForgetsKeys,
    /// An e-mail is sent whatever the sent log says.
    MailsAlways,
    /// SQLite answers a publish before it has written.
    AnswersTooEarly,
    /// SQLite forgets who has claimed a row.
    ForgetsClaims,
    /// SQLite does not list retries as due.
    OverlooksRetries,
    /// SQLite forgets that an e-mail was sent.
    MailsAgain,
    /// An event is not stored for longer when a row needs it.
    ForgetsEvents,
    /// A dead row is stored no longer than a delivered one.
    ExpiresDeadEarly,
    /// The publisher does not hear of rows that expire.
    OverlooksExpiry,
    /// The sweep deletes dead rows like delivered ones.
    SweepsDeadEarly,
}

impl Flaw {
    /// Those of the gateway on AWS.
    pub const AWS: [Self; 10] = [
        Self::AcknowledgesEarly,
        Self::IgnoresLeases,
        Self::DoesNotFence,
        Self::WatchesTooEarly,
        Self::ForgetsLanes,
        Self::ForgetsKeys,
        Self::MailsAlways,
        Self::ForgetsEvents,
        Self::ExpiresDeadEarly,
        Self::OverlooksExpiry,
    ];

    /// Those of the embedded gateway.
    pub const EMBEDDED: [Self; 5] = [
        Self::AnswersTooEarly,
        Self::ForgetsClaims,
        Self::OverlooksRetries,
        Self::MailsAgain,
        Self::SweepsDeadEarly,
    ];

    #[must_use]
    pub fn runs(self) -> Runs {
        if Self::EMBEDDED.contains(&self) {
            Runs::Embedded
        } else {
            Runs::OnAws
        }
    }

    /// Some flaws show only after a fault that is rare.
    pub(super) fn provoked_by(self) -> Strikes {
        match self {
            Self::DoesNotFence => Strikes::Often(Fault::LateEffect),
            Self::IgnoresLeases => Strikes::Often(Fault::MessageDoubled),
            Self::AcknowledgesEarly
            | Self::WatchesTooEarly
            | Self::ForgetsLanes
            | Self::ForgetsKeys
            | Self::MailsAlways
            | Self::AnswersTooEarly
            | Self::ForgetsClaims
            | Self::OverlooksRetries
            | Self::MailsAgain
            | Self::ForgetsEvents
            | Self::ExpiresDeadEarly
            | Self::OverlooksExpiry
            | Self::SweepsDeadEarly => Strikes::All,
        }
    }

    /// How long a run has to go on to show it.
    pub(super) const fn shows_until(self) -> Until {
        match self {
            Self::ForgetsEvents
            | Self::ExpiresDeadEarly
            | Self::OverlooksExpiry
            | Self::SweepsDeadEarly => Until::Expiry,
            Self::AcknowledgesEarly
            | Self::IgnoresLeases
            | Self::DoesNotFence
            | Self::WatchesTooEarly
            | Self::ForgetsLanes
            | Self::ForgetsKeys
            | Self::MailsAlways
            | Self::AnswersTooEarly
            | Self::ForgetsClaims
            | Self::OverlooksRetries
            | Self::MailsAgain => Until::Rest,
        }
    }

    /// Takes the rule out of a request.
    pub(super) fn spoil(self, operation: &str, request: &mut Value) {
        let condition = request["ConditionExpression"].as_str().unwrap_or_default();
        let condition = condition.to_owned();
        match self {
            Self::IgnoresLeases => {
                let spoiled = condition.replace("#lease_until < :now", "#lease_until >= :zero");
                if spoiled != condition {
                    request["ExpressionAttributeValues"][":zero"] = json!({ "N": "0" });
                    request["ConditionExpression"] = json!(spoiled);
                }
            }
            Self::DoesNotFence => {
                if condition == "#version = :version AND #lease_owner = :owner" {
                    request["ConditionExpression"] = json!("attribute_exists(#pk)");
                    request["ExpressionAttributeNames"]["#pk"] = json!("pk");
                }
            }
            Self::ForgetsLanes => {
                let update = request["UpdateExpression"].as_str().unwrap_or_default();
                if operation == "UpdateItem" && update.contains("#lane = :set_lane, ") {
                    let rest = update.replace("#lane = :set_lane, ", "");
                    let (sets, removes) = rest.split_once(" REMOVE ").unwrap_or((&rest, ""));
                    let comma = if removes.is_empty() { "" } else { ", " };
                    let spoiled = format!("{sets} REMOVE #lane{comma}{removes}");
                    request["UpdateExpression"] = json!(spoiled);
                }
            }
            Self::ForgetsKeys => {
                if operation == "PutItem" && condition.contains("#expires_at < :now") {
                    request["ConditionExpression"] = Value::Null;
                }
            }
            Self::MailsAlways => {
                if condition.contains(":silenced_after") {
                    request["ConditionExpression"] = Value::Null;
                }
            }
            Self::ForgetsEvents => {
                if operation == "UpdateItem" && request["Key"]["sk"]["S"] == "event" {
                    request["ExpressionAttributeNames"]["#expires_at"] = json!("forgotten");
                }
            }
            Self::ExpiresDeadEarly => {
                let values = &mut request["ExpressionAttributeValues"];
                if values[":set_status"]["S"] == "dead" {
                    let expires_at: i64 = values[":set_expires_at"]["N"]
                        .as_str()
                        .unwrap()
                        .parse()
                        .unwrap();
                    let early = expires_at - 60 * DAY_MS / 1000;
                    values[":set_expires_at"] = json!({ "N": early.to_string() });
                }
            }
            Self::AcknowledgesEarly
            | Self::WatchesTooEarly
            | Self::AnswersTooEarly
            | Self::ForgetsClaims
            | Self::OverlooksRetries
            | Self::MailsAgain
            | Self::OverlooksExpiry
            | Self::SweepsDeadEarly => {}
        }
    }

    /// Takes the rule out of what a reader sees.
    pub(super) fn spoil_reply(self, operation: &str, reply: &mut Value) {
        let row = reply.get_mut("Item").and_then(Value::as_object_mut);
        let lease = row.and_then(|row| row.get_mut("lease_until"));
        if let (Self::IgnoresLeases, "GetItem", Some(lease)) = (self, operation, lease) {
            *lease = json!({ "N": "0" });
        }
    }
}
