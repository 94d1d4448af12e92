//! Holds tenants to their publish rate: one token bucket per tenant, in this process. On AWS each copy of a function has its
//! own, because a shared one would cost a write per publish.

use std::collections::HashMap;

use parking_lot::Mutex;
use postrider_domain::ids::TenantId;
use postrider_domain::time::Timestamp;

/// Credit for one event.
const EVENT: u64 = 1000;

#[derive(Default)]
pub(crate) struct PublishRates {
    buckets: Mutex<HashMap<TenantId, Bucket>>,
}

/// Holds at most one second's worth of events.
struct Bucket {
    /// In thousandths of an event.
    credit: u64,
    filled_at: Timestamp,
}

impl PublishRates {
    /// Takes credit for one event at this rate, in events per second. Returns whether there was any.
    pub(crate) fn take(&self, tenant: &TenantId, rate: u32, now: Timestamp) -> bool {
        let rate = u64::from(rate);
        let most = rate * EVENT;
        let mut buckets = self.buckets.lock();
        let bucket = buckets.entry(tenant.clone()).or_insert(Bucket {
            credit: most,
            filled_at: now,
        });
        // A clock that was set back must not stop the refill.
        let elapsed = now.since(bucket.filled_at.min(now)).get();
        bucket.filled_at = now;
        let refill = elapsed.saturating_mul(rate);
        bucket.credit = bucket.credit.saturating_add(refill).min(most);
        let granted = bucket.credit >= EVENT;
        if granted {
            bucket.credit -= EVENT;
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use postrider_domain::time::Millis;

    const NOW: Timestamp = Timestamp::from_millis(1_771_668_000_000);

    fn granted(rates: &PublishRates, rate: u32, at: Timestamp) -> usize {
        let tenant = TenantId::default();
        (0..1000)
            .take_while(|_| rates.take(&tenant, rate, at))
            .count()
    }

    #[test]
    fn a_second_holds_as_many_events_as_the_rate_allows() {
        let rates = PublishRates::default();
        assert_eq!(granted(&rates, 10, NOW), 10);
        assert_eq!(granted(&rates, 10, NOW.plus(Millis::new(99))), 0);
        assert_eq!(granted(&rates, 10, NOW.plus(Millis::new(200))), 2);
        assert_eq!(granted(&rates, 10, NOW.plus(Millis::new(60_000))), 10);
    }

    #[test]
    fn a_tenant_does_not_use_the_credit_of_another() {
        let rates = PublishRates::default();
        assert_eq!(granted(&rates, 5, NOW), 5);
        assert!(rates.take(&"other".parse().unwrap(), 1, NOW));
    }

    #[test]
    fn a_lower_rate_applies_at_once_and_a_clock_set_back_stops_nothing() {
        let rates = PublishRates::default();
        assert!(rates.take(&TenantId::default(), 100, NOW));
        assert_eq!(granted(&rates, 3, NOW), 3);
        let earlier = NOW.minus(Millis::new(60_000));
        assert_eq!(granted(&rates, 3, earlier), 0);
        assert_eq!(granted(&rates, 3, earlier.plus(Millis::new(1000))), 3);
    }
}
