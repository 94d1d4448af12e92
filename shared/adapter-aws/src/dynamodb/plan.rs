//! Which rows an event has, on the event itself. Kept small, because every write of the event is billed by its size, and a
//! plan for a thousand webhooks must fit into one item next to the body.

use postrider_domain::delivery::Delivery;
use postrider_domain::event::Label;
use postrider_domain::ids::WebhookId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Rows of the plan that share these values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) session_id: Option<Label>,
    pub(super) intent: Option<Label>,
    pub(super) max_attempts: u32,
    pub(super) webhooks: Vec<WebhookId>,
}

/// The same, as stored.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredGroup {
    #[serde(rename = "w")]
    webhooks: Webhooks,
    #[serde(rename = "n")]
    max_attempts: u32,
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    intent: Option<Label>,
    /// Only if it is not the event's; null for none.
    #[serde(
        rename = "s",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    session_id: Option<Option<Label>>,
}

/// Ids of 16 bytes each, one after the other.
struct Webhooks(Vec<WebhookId>);

pub(super) fn of(rows: &[Delivery]) -> Vec<Planned> {
    let mut plan: Vec<Planned> = Vec::new();
    for row in rows {
        let alike = plan.iter_mut().find(|group| {
            group.max_attempts == row.max_attempts
                && group.intent == row.intent
                && group.session_id == row.session_id
        });
        match alike {
            Some(group) => group.webhooks.push(row.id.webhook),
            None => plan.push(Planned {
                session_id: row.session_id.clone(),
                intent: row.intent.clone(),
                max_attempts: row.max_attempts,
                webhooks: vec![row.id.webhook],
            }),
        }
    }
    plan
}

pub(super) fn store(plan: Vec<Planned>, session_of_event: Option<&Label>) -> Vec<StoredGroup> {
    let group = |planned: Planned| StoredGroup {
        webhooks: Webhooks(planned.webhooks),
        max_attempts: planned.max_attempts,
        intent: planned.intent,
        session_id: (planned.session_id.as_ref() != session_of_event).then_some(planned.session_id),
    };
    plan.into_iter().map(group).collect()
}

pub(super) fn read(stored: Vec<StoredGroup>, session_of_event: Option<&Label>) -> Vec<Planned> {
    let planned = |group: StoredGroup| Planned {
        session_id: group
            .session_id
            .unwrap_or_else(|| session_of_event.cloned()),
        intent: group.intent,
        max_attempts: group.max_attempts,
        webhooks: group.webhooks.0,
    };
    stored.into_iter().map(planned).collect()
}

/// Tells null from absent.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Label>>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

impl Serialize for Webhooks {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let ids = self.0.iter().flat_map(WebhookId::as_bytes).copied();
        to.serialize_bytes(&ids.collect::<Vec<_>>())
    }
}

impl<'de> Deserialize<'de> for Webhooks {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl serde::de::Visitor<'_> for Bytes {
            type Value = Webhooks;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("ids of 16 bytes each")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Webhooks, E> {
                let (ids, rest) = bytes.as_chunks();
                if !rest.is_empty() {
                    return Err(E::invalid_length(bytes.len(), &self));
                }
                let ids = ids.iter().copied().map(WebhookId::from_bytes);
                Ok(Webhooks(ids.collect()))
            }

            fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Webhooks, E> {
                self.visit_bytes(&bytes)
            }
        }

        from.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::*;

    fn group(session: Option<&str>, webhooks: std::ops::Range<u8>) -> Planned {
        Planned {
            session_id: session.map(|session| session.parse().unwrap()),
            intent: None,
            max_attempts: 8,
            webhooks: webhooks.map(|n| WebhookId::from_bytes([n; 16])).collect(),
        }
    }

    fn stored(plan: &[Planned], session: Option<&Label>) -> Vec<AttributeValue> {
        let stored = store(plan.to_vec(), session);
        let stored = stored.iter().map(serde_dynamo::to_attribute_value);
        stored.collect::<Result<_, _>>().unwrap()
    }

    fn there_and_back(plan: &[Planned], session: Option<&Label>) -> Vec<Planned> {
        let stored = stored(plan, session).into_iter();
        let stored = stored.map(serde_dynamo::from_attribute_value);
        read(stored.collect::<Result<_, _>>().unwrap(), session)
    }

    #[test]
    fn a_plan_comes_back_whatever_the_sessions_of_event_and_rows_are() {
        let plan = [
            group(None, 0..1),
            group(Some("a"), 1..20),
            Planned {
                intent: Some("audit".parse().unwrap()),
                ..group(Some("b"), 20..21)
            },
        ];
        for session in [None, Some("a"), Some("c")] {
            let session = session.map(|session| session.parse().unwrap());
            assert_eq!(there_and_back(&plan, session.as_ref()), plan);
        }
    }

    #[test]
    fn the_session_of_the_event_is_not_repeated() {
        let session: Label = "a".parse().unwrap();
        let kept = stored(&[group(Some("a"), 0..2)], Some(&session));
        let kept = kept[0].as_m().unwrap();
        assert_eq!(kept.len(), 2);
        assert_eq!(kept["w"].as_b().unwrap().as_ref().len(), 32);
    }
}
