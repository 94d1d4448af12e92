//! Where an export continues: what it exports, of which tenant, after which item.

use std::fmt;
use std::str::FromStr;

use postrider_domain::ids::{DeliveryId, KeyId, SourceId, TenantId, WebhookId};
use postrider_domain::pattern::EventType;
use postrider_ports::history::Cursor;

/// A place in an export. Written as text without spaces, for a client to send back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The tenant that comes next; the first one, if this is `None`.
    pub(super) tenant: Option<TenantId>,
    pub(super) stage: Stage,
}

/// What is exported next. Everything that deliveries depend on comes before them, for all tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Webhooks {
        after: Option<WebhookId>,
    },
    Sources {
        after: Option<SourceId>,
    },
    Keys {
        after: Option<KeyId>,
    },
    /// After what they limit: a limit that was lowered does not keep anything from being imported.
    Tenants,
    EventTypes {
        after: Option<EventType>,
    },
    Events(Place),
}

/// A place in the list of a tenant's deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Where the store's page starts.
    pub(super) page: Option<Cursor>,
    /// The last row of this page that was exported.
    pub(super) after: Option<DeliveryId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a cursor of an export")]
pub struct PositionError;

impl Position {
    pub(super) const fn start() -> Self {
        Self {
            tenant: None,
            stage: Stage::Webhooks { after: None },
        }
    }

    pub(super) const fn of(tenant: TenantId, stage: Stage) -> Self {
        Self {
            tenant: Some(tenant),
            stage,
        }
    }
}

const SEPARATOR: char = '.';
/// Stands for a part that is absent; no id, tenant or cursor is empty or contains it.
const NONE: &str = "~";
/// Stands before the name of an event type, which may be any visible text.
const NAMED: &str = "=";

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn text(part: Option<impl fmt::Display>) -> String {
            part.map_or_else(|| NONE.to_owned(), |part| part.to_string())
        }
        let tenant = text(self.tenant.as_ref());
        let (stage, page, after) = match &self.stage {
            Stage::Webhooks { after } => ("webhooks", NONE.to_owned(), text(*after)),
            Stage::Sources { after } => ("sources", NONE.to_owned(), text(*after)),
            Stage::Keys { after } => ("keys", NONE.to_owned(), text(*after)),
            Stage::Tenants => ("tenants", NONE.to_owned(), NONE.to_owned()),
            Stage::EventTypes { after } => {
                let after = after.as_ref().map(|name| format!("{NAMED}{name}"));
                ("event-types", NONE.to_owned(), text(after))
            }
            Stage::Events(Place { page, after }) => {
                let page = text(page.as_ref().map(|page| &page.0));
                ("events", page, text(*after))
            }
        };
        write!(
            f,
            "{stage}{SEPARATOR}{tenant}{SEPARATOR}{page}{SEPARATOR}{after}"
        )
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        // The last part may contain the separator.
        let parts: Vec<&str> = text.splitn(4, SEPARATOR).collect();
        let [stage, tenant, page, after] = parts.as_slice() else {
            return Err(PositionError);
        };
        let stage = match *stage {
            "webhooks" => Stage::Webhooks {
                after: part(after)?,
            },
            "sources" => Stage::Sources {
                after: part(after)?,
            },
            "keys" => Stage::Keys {
                after: part(after)?,
            },
            "tenants" => Stage::Tenants,
            "event-types" => Stage::EventTypes {
                after: match (after.strip_prefix(NAMED), *after) {
                    (Some(name), _) => Some(name.parse().map_err(|_| PositionError)?),
                    (None, NONE) => None,
                    (None, _) => return Err(PositionError),
                },
            },
            "events" => Stage::Events(Place {
                page: part::<String>(page)?.map(Cursor),
                after: part(after)?,
            }),
            _ => return Err(PositionError),
        };
        Ok(Self {
            tenant: part(tenant)?,
            stage,
        })
    }
}

fn part<T: FromStr>(text: &str) -> Result<Option<T>, PositionError> {
    if text == NONE {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| PositionError)
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::ids::EventId;

    #[test]
    fn a_position_reads_back_as_it_was_written() {
        let webhook = WebhookId::from_bytes([1; 16]);
        let after = DeliveryId {
            event: EventId::from_bytes([2; 16]),
            webhook,
        };
        let tenant: TenantId = "a-tenant_1".parse().unwrap();
        let place = Place {
            page: Some(Cursor("abc-_9".to_owned())),
            after: Some(after),
        };
        for position in [
            Position::start(),
            Position::of(
                tenant.clone(),
                Stage::Webhooks {
                    after: Some(webhook),
                },
            ),
            Position::of(tenant.clone(), Stage::Sources { after: None }),
            Position::of(tenant.clone(), Stage::Keys { after: None }),
            Position::of(tenant.clone(), Stage::Tenants),
            Position::of(tenant.clone(), Stage::EventTypes { after: None }),
            Position::of(
                tenant.clone(),
                Stage::EventTypes {
                    after: Some("order.~paid=.~".parse().unwrap()),
                },
            ),
            Position::of(tenant, Stage::Events(place)),
        ] {
            assert_eq!(position.to_string().parse(), Ok(position));
        }
    }

    #[test]
    fn anything_else_is_not_a_position() {
        for text in [
            "",
            "webhooks",
            "webhooks.a.~",
            "webhooks.A.~.~",
            "keys.a.~.wh_x",
            "rows.a.~.~",
            "event-types.a.~.order",
            "event-types.a.~.=",
            "event-types.a.~.=*",
            "events.a.~.~.~",
        ] {
            assert_eq!(text.parse::<Position>(), Err(PositionError), "{text}");
        }
    }
}
