//! Spans: what happened to one event, from acceptance to notification, for an OpenTelemetry collector.
//!
//! Traces are not stored. Their ids are derived from the ids of the event and its deliveries, so a process that attempts
//! a delivery hours later continues the trace that another process started.

mod parent;
mod span;

pub use parent::TraceParent;
pub use span::{Kind, Span, Value};

use std::fmt;

use data_encoding::HEXLOWER;
use postrider_domain::ids::{DeliveryId, EventId};
use sha2::{Digest, Sha256};

/// The trace of one event: the bytes of its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId([u8; 16]);

/// One span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId([u8; 8]);

impl TraceId {
    #[must_use]
    pub const fn of(event: EventId) -> Self {
        Self(*event.as_bytes())
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The random part of the id, its last seven bytes, as a number below 2^56. The bytes before it are the time and the
    /// variant of the UUIDv7.
    /// <https://www.w3.org/TR/trace-context-2/#random-trace-id-flag>
    fn chance(self) -> u64 {
        let [.., a, b, c, d, e, f, g] = self.0;
        u64::from_be_bytes([0, a, b, c, d, e, f, g])
    }
}

impl SpanId {
    /// The acceptance of an event: the root of its trace.
    #[must_use]
    pub fn of_accept(event: EventId) -> Self {
        Self::hashed("accept", event.as_bytes(), 0)
    }

    /// A call at `millis` that repeated an earlier one.
    #[must_use]
    pub fn of_repeat(event: EventId, millis: i64) -> Self {
        Self::hashed("repeat", event.as_bytes(), millis.unsigned_abs())
    }

    /// The attempt whose claim gave the row this version.
    #[must_use]
    pub fn of_attempt(delivery: DeliveryId, version: u64) -> Self {
        Self::hashed("attempt", delivery.to_string().as_bytes(), version)
    }

    #[must_use]
    pub fn of_notification(id: &str) -> Self {
        Self::hashed("announce", id.as_bytes(), 0)
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 8] {
        &self.0
    }

    fn hashed(what: &str, of: &[u8], number: u64) -> Self {
        let mut hash = Sha256::new();
        hash.update(what);
        hash.update(number.to_be_bytes());
        hash.update(of);
        let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = hash.finalize().into();
        Self([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

/// The share of traces that is recorded. Every process decides the same way, so a trace is complete or absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Traces whose random part is below this are recorded.
    below: u64,
}

impl Share {
    pub const ALL: Self = Self { below: 1 << 56 };
    pub const NONE: Self = Self { below: 0 };

    /// A ratio from 0 to 1; `None` if it is out of range.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "0 to 2^56, checked; its last bits do not matter"
    )]
    pub fn part(ratio: f64) -> Option<Self> {
        let below = (ratio * Self::ALL.below as f64) as u64;
        (0.0..=1.0).contains(&ratio).then_some(Self { below })
    }

    #[must_use]
    pub fn has(self, trace: TraceId) -> bool {
        trace.chance() < self.below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::ids::WebhookId;
    use postrider_domain::time::Timestamp;

    fn event(n: u64) -> EventId {
        let entropy: [u8; 32] = Sha256::digest(n.to_be_bytes()).into();
        let entropy = entropy[..10].try_into().unwrap();
        EventId::new(Timestamp::from_millis(1_771_668_000_000), &entropy)
    }

    #[test]
    fn a_trace_has_the_bytes_of_its_event() {
        let id = event(1);
        assert_eq!(TraceId::of(id).as_bytes(), id.as_bytes());
        assert_eq!(TraceId::of(id).to_string().len(), 32);
    }

    #[test]
    fn spans_of_one_event_differ_and_are_the_same_in_every_process() {
        let delivery = |webhook| DeliveryId {
            event: event(1),
            webhook: WebhookId::from_bytes([webhook; 16]),
        };
        let spans = || {
            [
                SpanId::of_accept(event(1)),
                SpanId::of_repeat(event(1), 5),
                SpanId::of_repeat(event(1), 6),
                SpanId::of_attempt(delivery(1), 1),
                SpanId::of_attempt(delivery(1), 2),
                SpanId::of_attempt(delivery(2), 1),
                SpanId::of_notification("dlv_1/2/delivery.failed"),
            ]
        };
        let different: std::collections::HashSet<_> = spans().into_iter().collect();
        assert_eq!(different.len(), spans().len());
        assert_eq!(spans(), spans());
    }

    #[test]
    fn a_share_of_traces_is_taken_by_what_is_random_in_their_ids() {
        let taken = |share: Share| {
            (0..4000)
                .filter(|n| share.has(TraceId::of(event(*n))))
                .count()
        };
        assert_eq!(taken(Share::ALL), 4000);
        assert_eq!(taken(Share::NONE), 0);
        assert_eq!(Share::part(1.0), Some(Share::ALL));
        let quarter = taken(Share::part(0.25).unwrap());
        assert!((900..1100).contains(&quarter), "{quarter}");
        for bad in [-0.1, 1.1, f64::NAN] {
            assert_eq!(Share::part(bad), None);
        }
    }
}
