//! The rows of the cost table.

use postrider_aws_bill::markdown::Row;
use postrider_testkit::bodies::Family;

use super::site::Site;

/// How many deliveries a busy run has. Each batch of messages has ten of them, and the publisher gets all at once.
pub(crate) const BUSY: u32 = 20;

/// A kind of delivery.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) family: Family,
    pub(crate) body_bytes: usize,
    pub(crate) session: Option<&'static str>,
    /// How many attempts fail before one succeeds. Each delivery then goes to a webhook of its own: retries to one webhook
    /// would share their rate limit.
    pub(crate) failures: u32,
    /// How many webhooks get each event.
    pub(crate) fan_out: u32,
    pub(crate) key: Option<&'static str>,
}

/// How events arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// One by one, with minutes in between: each message and each change causes an invocation of its own.
    Quiet,
    /// Many at once.
    Busy,
}

const KB: usize = 1024;

pub(crate) fn cases() -> Vec<Case> {
    let order = Case {
        name: "1 KB, session".to_owned(),
        family: Family::Order,
        body_bytes: KB,
        session: Some("session-of-an-agent-0042"),
        failures: 0,
        fan_out: 1,
        key: None,
    };
    let named = |name: &str| Case {
        name: name.to_owned(),
        ..order.clone()
    };
    let mut cases = vec![
        order.clone(),
        Case {
            session: None,
            ..named("1 KB, no session")
        },
        Case {
            body_bytes: 600,
            ..named("600 B, session")
        },
        Case {
            body_bytes: 3 * KB,
            ..named("3 KB, session")
        },
    ];
    cases.extend(Family::ALL.map(|family| Case {
        family,
        body_bytes: 10 * KB,
        ..named(&format!("10 KB, {}", family.name()))
    }));
    cases.extend([
        Case {
            failures: 2,
            ..named("1 KB, two retries")
        },
        Case {
            fan_out: 10,
            ..named("1 KB, fan-out to ten, each")
        },
        Case {
            key: Some("order-4711"),
            ..named("1 KB, with a key")
        },
    ]);
    cases
}

impl Case {
    /// Counts it under both loads.
    pub(crate) async fn row(&self) -> Row {
        let quiet = Site::open(self, Load::Quiet).await.count().await;
        let busy = Site::open(self, Load::Busy).await.count().await;
        Row {
            name: self.name.clone(),
            quiet,
            busy,
        }
    }
}
